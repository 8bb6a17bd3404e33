// The repositories that the account of the host's client can reach: lists them, and tells git how to reach
// one of them.
import {
  isInsecureCloneUrl,
  objectToCloneUrl,
  type HostedRepositoryRecord,
} from "@hawser/contract";
import { GhError, type Gh } from "./gh.ts";

export interface Wanted {
  /** Keeps those whose owner/name contains it; case does not matter. */
  query: string;
  limit: number;
}

const everyWay = "[OWNER, ORGANIZATION_MEMBER, COLLABORATOR]";
const pageQuery = `query($endCursor: String) {
  viewer {
    repositories(first: 100, after: $endCursor, affiliations: ${everyWay},
        ownerAffiliations: ${everyWay}, orderBy: {field: PUSHED_AT, direction: DESC}) {
      nodes { nameWithOwner isPrivate defaultBranchRef { name } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

interface Page {
  nodes: ({
    nameWithOwner: string;
    isPrivate: boolean;
    defaultBranchRef: { name: string } | null;
  } | null)[];
  pageInfo: { hasNextPage: boolean; endCursor: string };
}

/** Most recently pushed first. Reads pages only until there are enough. */
export async function listRepositories(
  gh: Gh,
  { query, limit }: Wanted,
  signal: AbortSignal,
): Promise<HostedRepositoryRecord[]> {
  const found: HostedRepositoryRecord[] = [];
  const part = query.toLowerCase();
  let endCursor: string | undefined;
  for (;;) {
    const data = await gh.ask(pageQuery, { endCursor }, signal);
    const page = (data["viewer"] as { repositories?: Page } | null)?.repositories;
    if (!page) throw new GhError("unreachable");
    for (const node of page.nodes) {
      if (!node?.nameWithOwner.toLowerCase().includes(part)) continue;
      const { nameWithOwner: name, isPrivate, defaultBranchRef } = node;
      found.push({ name, private: isPrivate, defaultBranch: defaultBranchRef?.name ?? null });
      if (found.length === limit) return found;
    }
    if (!page.pageInfo.hasNextPage) return found;
    endCursor = page.pageInfo.endCursor;
  }
}

const oneQuery = `query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) { url sshUrl }
}`;

/** How git reaches a repository with the client's account, as the client is set to. */
export interface Access {
  url: string;
  /** Settings by which git gets the account's token from the client. */
  settings: readonly (readonly [name: string, value: string])[];
  environment: Readonly<Record<string, string>>;
}

export async function accessTo(gh: Gh, repo: string, signal: AbortSignal): Promise<Access> {
  const [owner, name] = repo.split("/");
  const data = await gh.ask(oneQuery, { owner, name }, signal);
  const { url, sshUrl } = data["repository"] as { url: string; sshUrl: string };
  const { origin, host } = new URL(url);
  const viaSsh = await gh.prefersSsh(host, signal);
  const address = viaSsh ? sshUrl : `${url}.git`;
  if (objectToCloneUrl(address) !== null || isInsecureCloneUrl(address))
    throw new GhError("unreachable", odd);
  // The empty entry removes the user's own helpers, which may know another account.
  const settings: Access["settings"] = [
    [`credential.${origin}.helper`, ""],
    helperSettings(gh, origin),
  ];
  return viaSsh
    ? { url: address, settings: [], environment: {} }
    : { url: address, settings, environment: gh.environment };
}

/** Makes git ask the client for the token of a server, given as `https://host`. */
export function helperSettings(gh: Gh, origin: string): readonly [name: string, value: string] {
  // The client's full path: git runs helpers by a shell, which would search for the name again.
  return [
    `credential.${origin}.helper`,
    `!${quote(gh.program()?.path ?? "gh")} auth git-credential`,
  ];
}

const odd = "GitHub gave this host's client an address that cannot be cloned safely.";

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
