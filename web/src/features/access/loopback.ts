// Addresses that only this machine reaches.

/** Whether only this machine reaches the address. */
export const isLoopback = (hostname: string) =>
  /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
