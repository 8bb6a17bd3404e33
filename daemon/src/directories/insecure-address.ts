// Clone addresses without encryption, `http://` and `git://`. Anyone on the network can read and change what
// they transfer. So the host's owner has to allow them, git sends nothing of the user's to them, and it
// goes to no other server from there.
import { isInsecureCloneUrl } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import type { GitCall } from "../git/git.ts";
import type { Policy } from "../policy/policy.ts";

/** Throws a refusal if the address is not encrypted and the policy file does not allow that. */
export function refuseInsecure(url: string, policy: Policy): void {
  if (!isInsecureCloneUrl(url) || policy.insecureCloneAddresses) return;
  const message =
    "The host's policy file does not allow http:// and git:// addresses, because they are not encrypted. " +
    "Use an https:// or ssh:// address. Or the host's owner can allow them with the line " +
    '"insecure-clone-addresses = yes" in the policy file on the host, by default ~/.hawser/policy.';
  throw new CommandRefusal("insecure_source", message);
}

/**
 * How git works with an address. For one without encryption, git has neither the user's configuration nor a
 * home: credential helpers, `.netrc`, cookies and headers would send logins in plain text. It may use this
 * one protocol and follows no redirect.
 */
export function gitFor(url: string): Required<Pick<GitCall, "settings" | "environment">> {
  if (!isInsecureCloneUrl(url)) return { settings: [], environment: {} };
  return {
    settings: [["http.followRedirects", "false"]],
    environment: {
      GIT_ALLOW_PROTOCOL: url.slice(0, url.indexOf(":")),
      GIT_CONFIG_NOSYSTEM: "1",
      XDG_CONFIG_HOME: "/dev/null",
      HOME: "/dev/null",
    },
  };
}
