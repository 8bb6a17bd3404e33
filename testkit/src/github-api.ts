// The answers of the stand-in for GitHub to the queries of `gh`. It has no GraphQL engine: the queries are
// few and known, and an unknown query is answered with an error.
import type { Affiliation, ApiAnswer, GithubWorld, HostedRepository } from "./github-world.ts";

export interface GraphqlQuestion {
  query: string;
  variables?: Record<string, unknown>;
}

const notFound: ApiAnswer = { status: 404, body: { message: "Not Found" } };
const everyAffiliation: Affiliation[] = ["owner", "organization_member", "collaborator"];

export function answerApi(
  world: GithubWorld,
  path: string,
  parameters: URLSearchParams,
): ApiAnswer {
  switch (path) {
    case "/":
      return { headers: { "x-oauth-scopes": "repo, read:org, gist" }, body: {} };
    case "/user":
      return { body: { login: world.account, type: "User" } };
    case "/user/repos":
      return listOverRest(world, parameters);
    default:
      return notFound;
  }
}

function listOverRest(world: GithubWorld, parameters: URLSearchParams): ApiAnswer {
  const wanted = parameters.get("affiliation")?.split(",") ?? everyAffiliation;
  const visibility = parameters.get("visibility") ?? "all";
  const all = world.repositories.filter(
    (each) =>
      wanted.includes(affiliationOf(each)) &&
      (visibility === "all" || (visibility === "private") === isPrivate(each)),
  );
  const perPage = Number(parameters.get("per_page") ?? 30);
  const page = Number(parameters.get("page") ?? 1);
  const next = new URLSearchParams(parameters);
  next.set("page", String(page + 1));
  const link = `<${world.apiUrl}/user/repos?${next.toString()}>; rel="next"`;
  return {
    headers: page * perPage < all.length ? { link } : {},
    body: all.slice((page - 1) * perPage, page * perPage).map((each) => ({
      full_name: each.name,
      private: isPrivate(each),
      default_branch: "main",
    })),
  };
}

export function answerGraphql(world: GithubWorld, question: GraphqlQuestion): ApiAnswer {
  const { query, variables = {} } = question;
  // The fields of a repository that an enterprise server of this version has.
  if (/__type\(name: "Repository"\)/.test(query)) {
    return { body: { data: { Repository: { fields: [{ name: "visibility" }] } } } };
  }
  if (/\brepositories\(/.test(query)) return listOverGraphql(world, query, variables);
  if (/\brepository\(/.test(query)) {
    const name = `${String(variables["owner"])}/${String(variables["name"])}`;
    const found = world.repositories.find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (found) return { body: { data: { repository: describe(world, found) } } };
    const message = `Could not resolve to a Repository with the name '${name}'.`;
    const errors = [{ type: "NOT_FOUND", path: ["repository"], message }];
    return { body: { data: { repository: null }, errors } };
  }
  if (/\bviewer\s*\{\s*login\s*\}/.test(query)) {
    return { body: { data: { viewer: { login: world.account } } } };
  }
  return { body: { errors: [{ message: `This stand-in does not know: ${query}` }] } };
}

/** `ownerAffiliations`; GitHub's default is owner and collaborator. */
function listOverGraphql(
  world: GithubWorld,
  query: string,
  variables: Record<string, unknown>,
): ApiAnswer {
  const named = (argument: string) =>
    new RegExp(`\\b${argument}:\\s*\\[([^\\]]*)\\]`).exec(query)?.[1]?.toLowerCase();
  const affiliations = named("affiliations") ?? everyAffiliation.join();
  const ownerAffiliations = named("ownerAffiliations") ?? "owner,collaborator";
  const all = world.repositories.filter(
    (each) =>
      affiliations.includes(affiliationOf(each)) && ownerAffiliations.includes(affiliationOf(each)),
  );
  const first = Number(variables["perPage"] ?? /\bfirst:\s*(\d+)/.exec(query)?.[1] ?? 30);
  if (first > 100) {
    return { body: { errors: [{ type: "EXCESSIVE_PAGINATION", message: "At most 100." }] } };
  }
  const begin = Number(variables["endCursor"] ?? 0);
  const end = begin + first;
  const repositories = {
    nodes: all.slice(begin, end).map((each) => describe(world, each)),
    totalCount: all.length,
    pageInfo: { hasNextPage: end < all.length, endCursor: String(end) },
  };
  const of = /\brepositoryOwner\b/.test(query) ? "repositoryOwner" : "viewer";
  return { body: { data: { [of]: { login: world.account, repositories } } } };
}

function describe(world: GithubWorld, repository: HostedRepository) {
  const host = new URL(world.apiUrl).host.replace(/^api\./, "");
  const [owner, name] = repository.name.split("/");
  return {
    nameWithOwner: repository.name,
    name,
    owner: { login: owner },
    isPrivate: isPrivate(repository),
    visibility: isPrivate(repository) ? "PRIVATE" : "PUBLIC",
    defaultBranchRef: repository.empty ? null : { name: "main" },
    url: `https://${host}/${repository.name}`,
    sshUrl: `git@${host}:${repository.name}.git`,
  };
}

const affiliationOf = ({ affiliation = "owner" }: HostedRepository) => affiliation;
const isPrivate = (repository: HostedRepository) => repository.private ?? false;
