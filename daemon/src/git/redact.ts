// Removes credentials from addresses. Git uses them on the host, and they never leave it: every text that
// git prints passes through here first.

/**
 * `user:secret@` and `token@` after a scheme. The second form also matches a secret with a slash, which no
 * valid address has but people write. `ssh://git@host` names an account, and stays.
 */
const userInfo = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/?#]*@|[^\s/?#:@]*:(?!\d*(?:[/?#\s]|$))\S*@)/gi;

/** A text, such as an error message, without the credentials of the addresses in it. */
export function redactCredentials(text: string): string {
  return text.replace(userInfo, (found, scheme: string) => {
    const isAccount = /^(?:git\+)?ssh:/i.test(scheme) && !found.slice(scheme.length).includes(":");
    return isAccount ? found : scheme;
  });
}

/** A remote's address as it may be shown; null if there is nothing to show. */
export function showRemote(address: string): string | null {
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (address === "" || address.length > 2048 || /[\u0000-\u001f\u007f]/.test(address)) return null;
  if (!address.includes("://")) return address.replace(/^[^/\s@:]+:[^/\s]*@(?=[^/\s]+:)/, "");
  return redactCredentials(address).replace(/[?#].*$/, "");
}
