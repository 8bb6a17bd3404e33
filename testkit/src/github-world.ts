// What the stand-in for GitHub knows: its account, repositories and pull requests.
import type { BareOptions } from "./bare-repository.ts";

/** How an account has access to a repository. */
export type Affiliation = "owner" | "organization_member" | "collaborator";

export interface HostedRepository extends BareOptions {
  /** Written owner/name. */
  name: string;
  private?: boolean;
  affiliation?: Affiliation;
  /** The API lists it, but there is no repository to clone. */
  onlyListed?: boolean;
}

export interface NewPullRequest {
  head: string;
  base: string;
  title: string;
  body?: string;
}

export interface PullRequest extends Required<NewPullRequest> {
  repository: string;
  number: number;
  url: string;
  state: "open" | "closed";
}

export interface GithubWorld {
  account: string;
  repositories: readonly HostedRepository[];
  /** Address of the API as the client uses it, without a slash at the end. */
  apiUrl: string;
  /** The directory of the bare repositories. */
  directory: string;
  pullRequests: PullRequest[];
}

export interface ApiAnswer {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}
