// Whether the host has a code-hosting client, and whose account it uses. The facts are read often, but the
// client is asked only if it or its login has changed, or after a while, because a login can also be ended
// at the server.
import type { HostFacts } from "@hawser/host-protocol";
import type { FactReader } from "../facts.ts";
import { GhError, type Gh } from "./gh.ts";

type Status = NonNullable<HostFacts["codeHostingCli"]>;

const longestAskMs = 5_000;
const trustedMs = 15 * 60_000;

export interface CodeHostingStatus {
  readFacts: FactReader;
  /** Makes the next read ask the client. */
  doubt: () => void;
}

export function createCodeHostingStatus(gh: Gh, now: () => number = Date.now): CodeHostingStatus {
  let known: { stamp: string; at: number; status: Status } | undefined;
  return {
    doubt: () => void (known = undefined),
    async readFacts() {
      const stamp = gh.stamp();
      if (stamp === undefined) {
        return { codeHostingCli: { installed: false, loggedIn: false, account: null } };
      }
      if (known?.stamp === stamp && now() - known.at < trustedMs) {
        return { codeHostingCli: known.status };
      }
      try {
        const status = await askStatus(gh);
        known = { stamp, at: now(), status };
        return { codeHostingCli: status };
      } catch (error) {
        if (!(error instanceof GhError)) throw error;
        const message = `Whether the GitHub client is logged in is not known. ${error.message}`;
        return {
          codeHostingCli: { installed: true, loggedIn: false, account: null },
          warnings: [{ code: "code_hosting_unreachable", message }],
        };
      }
    },
  };
}

async function askStatus(gh: Gh): Promise<Status> {
  try {
    const data = await gh.ask("{viewer{login}}", {}, AbortSignal.timeout(longestAskMs));
    const { login } = (data["viewer"] ?? {}) as { login?: unknown };
    const account = typeof login === "string" ? login : null;
    return { installed: true, loggedIn: account !== null, account };
  } catch (error) {
    if (!(error instanceof GhError) || error.problem !== "not_logged_in") throw error;
    return { installed: true, loggedIn: false, account: null };
  }
}
