// Pull requests of the stand-in for GitHub, in the form of its REST API: a repository, its open pull
// requests, and creating one. It refuses with the same messages as GitHub.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { ApiAnswer, GithubWorld, NewPullRequest, PullRequest } from "./github-world.ts";

/** undefined if the path is not about pull requests. `given` is the body of a POST. */
export function answerPulls(
  world: GithubWorld,
  path: string,
  parameters: URLSearchParams,
  given: NewPullRequest | undefined,
): ApiAnswer | undefined {
  const [, wanted, rest] = /^\/repos\/([^/]+\/[^/]+)(\/pulls)?$/.exec(path) ?? [];
  if (wanted === undefined) return undefined;
  const known = world.repositories.find((each) => each.name === wanted);
  if (!known) return { status: 404, body: { message: "Not Found" } };
  if (rest === undefined) {
    return { body: { full_name: known.name, default_branch: "main", private: known.private } };
  }
  return given ? create(world, known.name, given) : list(world, known.name, parameters);
}

function list(world: GithubWorld, repository: string, parameters: URLSearchParams): ApiAnswer {
  const [owner] = repository.split("/");
  const head = parameters.get("head");
  const state = parameters.get("state") ?? "open";
  const found = world.pullRequests.filter(
    (each) =>
      each.repository === repository &&
      (state === "all" || each.state === state) &&
      (head === null || `${owner}:${each.head}` === head),
  );
  return { body: found.map(show) };
}

function create(world: GithubWorld, repository: string, given: NewPullRequest): ApiAnswer {
  const { head, base, title, body = "" } = given;
  const [owner] = repository.split("/");
  const refuse = (message: string): ApiAnswer => ({
    status: 422,
    body: { message: "Validation Failed", errors: [{ resource: "PullRequest", message }] },
  });
  const tipOf = (branch: string) => tip(join(world.directory, `${repository}.git`), branch);
  if (title === "") return refuse("title can't be blank");
  if (tipOf(head) === undefined) return refuse("head is invalid");
  if (tipOf(head) === tipOf(base)) return refuse(`No commits between ${base} and ${head}`);
  const isSame = (each: PullRequest) =>
    each.repository === repository && each.head === head && each.state === "open";
  if (world.pullRequests.some(isSame)) {
    return refuse(`A pull request already exists for ${owner}:${head}.`);
  }
  const number = world.pullRequests.length + 1;
  const host = new URL(world.apiUrl).host.replace(/^api\./, "");
  const url = `https://${host}/${repository}/pull/${number}`;
  const made: PullRequest = { repository, number, url, state: "open", head, base, title, body };
  world.pullRequests.push(made);
  return { status: 201, body: show(made) };
}

const show = ({ number, url, state, title, head, base }: PullRequest) => ({
  number,
  html_url: url,
  state,
  title,
  head: { ref: head },
  base: { ref: base },
});

function tip(repository: string, branch: string): string | undefined {
  try {
    const args = ["-C", repository, "rev-parse", "--verify", "--quiet", `refs/heads/${branch}`];
    return execFileSync("git", args, { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}
