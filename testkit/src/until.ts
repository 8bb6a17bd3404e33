// Waits for something to become true, and says what it waited for when it does not.
export async function until(
  what: string,
  test: () => boolean | Promise<boolean>,
  patienceMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`Waited ${patienceMs} ms in vain: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
