// Explains why a push failed, in our words, with the short reason of git or the server if its status line
// has one. The rest of the server's output is not for callers.
import { explainRemoteFailure } from "../directories/clone-failure.ts";
import { redactCredentials } from "../git/redact.ts";

const longestReason = 200;

export function explainPushFailure(said: string, branch: string): string {
  const own = said.split(/[\r\n]+/).filter((line) => !line.startsWith("remote:"));
  // ` ! [rejected]        1f2e3d -> hawser/x (non-fast-forward)`
  const line = own.find((each) => /^\s*! \[/.test(each)) ?? "";
  const [, who, reason] = /^\s*! \[(remote )?rejected\].*\(([^()]*)\)\s*$/.exec(line) ?? [];
  if (reason === "non-fast-forward" || reason === "fetch first") {
    return (
      `Git refused the push as non-fast-forward: ${branch} on origin has commits that the session ` +
      "does not have. Fetch and merge them in the session, then push again."
    );
  }
  if (reason !== undefined) {
    const words = reason.replace(/[\p{Cc}\p{Cf}]+/gu, " ").slice(0, longestReason);
    const by = who === undefined ? "Git" : "The server";
    return `${by} refused the push: ${redactCredentials(words)}.`;
  }
  if (/transport '[^']*' not allowed/.test(said)) {
    return (
      "The address that origin had when the session began is neither https nor ssh. Only those two are " +
      "pushed to, and the address stays the same for this session. Push by hand on the host, or change " +
      "the address of origin and start another session."
    );
  }
  const known = explainRemoteFailure(said);
  return known ?? "Git could not push. Try the same by hand on the host to see why.";
}
