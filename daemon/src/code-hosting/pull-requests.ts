// Pull requests, through the REST API as the host's client reaches it. The client's own commands for them
// would run git in the repository, with everything that an agent may have written into its settings.
import { redactCredentials } from "../git/redact.ts";
import { GhError, GhRefused, type Gh } from "./gh.ts";
import type { HostedPlace } from "./hosted-place.ts";

export interface WantedPullRequest {
  /** The branch, which is on the server already. */
  branch: string;
  title: string;
  body: string;
}

/** Its address, or why there is none: a code, or a sentence. */
export type PullRequest = { url: string } | { error: string };

/** Finds the branch's open pull request, else opens one into the repository's default branch. */
export async function providePullRequest(
  gh: Gh,
  place: HostedPlace,
  wanted: WantedPullRequest,
  signal: AbortSignal,
): Promise<PullRequest> {
  try {
    const open = await findOpen(gh, place, wanted.branch, signal);
    if (open) return { url: open };
    try {
      return { url: await create(gh, place, wanted, signal) };
    } catch (error) {
      // Somebody else may have opened one in the meantime.
      const other =
        error instanceof GhRefused && (await findOpen(gh, place, wanted.branch, signal));
      if (other) return { url: other };
      throw error;
    }
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

const pathOf = ({ owner, name }: HostedPlace) => `repos/${owner}/${name}`;

async function findOpen(
  gh: Gh,
  place: HostedPlace,
  branch: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const head = encodeURIComponent(`${place.owner}:${branch}`);
  const path = `${pathOf(place)}/pulls?state=open&per_page=1&head=${head}`;
  const found = await gh.request({ host: place.host, method: "GET", path }, signal);
  return Array.isArray(found) && found.length > 0 ? addressOf(place, found[0]) : undefined;
}

async function create(
  gh: Gh,
  place: HostedPlace,
  { branch, title, body }: WantedPullRequest,
  signal: AbortSignal,
): Promise<string> {
  const { host } = place;
  const about = await gh.request({ host, method: "GET", path: pathOf(place) }, signal);
  const base = (about as { default_branch?: unknown }).default_branch;
  if (typeof base !== "string") throw new GhRefused("The repository has no default branch.");
  const wanted = { head: branch, base, title, body };
  const path = `${pathOf(place)}/pulls`;
  return addressOf(place, await gh.request({ host, method: "POST", path, body: wanted }, signal));
}

/** Checked, because people will open the address that the server returns. */
function addressOf({ host }: HostedPlace, answer: unknown): string {
  const { html_url: url } = (answer ?? {}) as { html_url?: unknown };
  if (typeof url === "string" && url.startsWith(`https://${host}/`) && !/[\s\p{Cc}]/u.test(url)) {
    return url;
  }
  throw new GhRefused("The server gave no address for the pull request.");
}

const longestReason = 500;

function reasonOf(error: unknown): string {
  if (error instanceof GhError) {
    const { problem } = error;
    const isForOwner = problem === "cli_not_installed" || problem === "not_logged_in";
    return isForOwner ? problem : error.message;
  }
  if (!(error instanceof GhRefused)) throw error;
  const words = error.message.replace(/[\p{Cc}\p{Cf}]+/gu, " ").slice(0, longestReason);
  return `GitHub refused: ${redactCredentials(words)}`;
}
