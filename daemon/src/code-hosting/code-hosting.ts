// The host's code-hosting client, as the rest of the daemon uses it.
import type { HostedRepositoryRecord } from "@hawser/contract";
import { GhError, createGh } from "./gh.ts";
import { clientAccess, findHostedPlace, type HostedPlace } from "./hosted-place.ts";
import { providePullRequest, type PullRequest, type WantedPullRequest } from "./pull-requests.ts";
import { accessTo, listRepositories, type Access, type Wanted } from "./repositories.ts";
import { createCodeHostingStatus, type CodeHostingStatus } from "./status.ts";

export interface CodeHosting {
  readFacts: CodeHostingStatus["readFacts"];
  /** Empty, with the reason, if there is no client or it is logged out. Throws GhError. */
  list: (wanted: Wanted, signal: AbortSignal) => Promise<Listing>;
  /** Throws GhError. */
  accessTo: (repo: string, signal: AbortSignal) => Promise<Access>;
  /** undefined if the client does not serve the address. Throws GhError. */
  findOrigin: (address: string, signal: AbortSignal) => Promise<HostedOrigin | undefined>;
}

/** A repository that git has an address for, at a server the client knows. */
export interface HostedOrigin {
  place: HostedPlace;
  /** Settings by which git gets the client's token. */
  access: Omit<Access, "url">;
  providePullRequest: (wanted: WantedPullRequest, signal: AbortSignal) => Promise<PullRequest>;
}

export interface Listing {
  repositories: HostedRepositoryRecord[];
  reason: "cli_not_installed" | "not_logged_in" | null;
}

export function createCodeHosting(own?: NodeJS.ProcessEnv): CodeHosting {
  const gh = createGh(own);
  const status = createCodeHostingStatus(gh);
  return {
    readFacts: status.readFacts,
    accessTo: (repo, signal) => accessTo(gh, repo, signal),
    async findOrigin(address, signal) {
      const place = await findHostedPlace(gh, address, signal);
      return (
        place && {
          place,
          access: clientAccess(gh, place, address),
          providePullRequest: (wanted, until) => providePullRequest(gh, place, wanted, until),
        }
      );
    },
    async list(wanted, signal) {
      try {
        return { repositories: await listRepositories(gh, wanted, signal), reason: null };
      } catch (error) {
        if (!(error instanceof GhError)) throw error;
        const { problem } = error;
        if (problem !== "cli_not_installed" && problem !== "not_logged_in") throw error;
        status.doubt();
        return { repositories: [], reason: problem };
      }
    },
  };
}
