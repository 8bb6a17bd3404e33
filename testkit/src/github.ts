// A stand-in for GitHub on loopback, for the real `gh` and the real git: the part of its API that they use,
// and repositories over https, served by git's own program. Clients reach it through a proxy, under
// GitHub's names and under the name of an enterprise server, with a certificate of its own authority.
import { once } from "node:events";
import { mkdirSync, mkdtempSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createBareRepository } from "./bare-repository.ts";
import { makeCertificate } from "./certificate-authority.ts";
import { startConnectProxy } from "./connect-proxy.ts";
import { serveGit } from "./git-server.ts";
import { answerApi, answerGraphql, type GraphqlQuestion } from "./github-api.ts";
import { answerPulls } from "./github-pulls.ts";
import type {
  ApiAnswer,
  GithubWorld,
  HostedRepository,
  NewPullRequest,
  PullRequest,
} from "./github-world.ts";
import { removeDirectory } from "./remove-directory.ts";

export interface Github extends AsyncDisposable {
  /** The environment with which a host's processes reach and trust the stand-in. */
  environment: Record<string, string>;
  authorityFile: string;
  /** The directory of the bare repositories, each `owner/name.git`. */
  directory: string;
  /** Every request so far, as `GET host/path`. */
  requests: string[];
  /** All pull requests, the oldest first. A test closes one by changing it here. */
  pullRequests: PullRequest[];
  /** Holds packs of more than a few hundred kilobytes in the middle, until called with false. */
  hold(held: boolean): void;
  /** Answers every request with this status and a body that must not be shown; undefined ends it. */
  fail(status: number | undefined): void;
  /** The account's valid tokens; empty after a revocation. */
  tokens: Set<string>;
}

export interface GithubOptions {
  account?: string;
  /** The token with which the account's client authenticates. */
  token: string;
  repositories?: readonly HostedRepository[];
}

/** The name of the enterprise server, for GH_HOST. */
export const enterpriseHost = "github.acme.example";
const names = ["github.com", "api.github.com", enterpriseHost];

export async function startGithub({
  account = "ada",
  token,
  repositories = [],
}: GithubOptions): Promise<Github> {
  await using startup = new AsyncDisposableStack();
  const place = mkdtempSync(join(tmpdir(), "hawser-github-"));
  startup.defer(() => removeDirectory(place));
  const directory = join(place, "repositories");
  mkdirSync(directory);
  for (const { name, onlyListed, ...options } of repositories) {
    if (!onlyListed) createBareRepository(directory, name, options);
  }
  const { authorityFile, key, certificate } = makeCertificate(place, names);

  const tokens = new Set([token]);
  const requests: string[] = [];
  const pullRequests: PullRequest[] = [];
  let gate: PromiseWithResolvers<void> | undefined;
  let failure: number | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = request.headers.host ?? "";
    const url = new URL(request.url ?? "/", `https://${host}`);
    requests.push(`${request.method} ${host}${url.pathname}`);
    if (failure !== undefined) {
      response.writeHead(failure).end("the inner workings of this server");
      return;
    }
    const path = apiPath(host, url.pathname);
    if (path === undefined) return answerGit(request, response, url);
    const apiUrl = url.origin + url.pathname.slice(0, -path.length);
    const world = { account, repositories, apiUrl, directory, pullRequests };
    const isKnown = tokens.has(tokenOf(request) ?? "");
    const unknown: ApiAnswer = { status: 401, body: { message: "Bad credentials" } };
    if (!isKnown) return send(response, unknown);
    send(
      response,
      path === "/graphql"
        ? answerGraphql(world, JSON.parse(await text(request)) as GraphqlQuestion)
        : await answerRest(world, request, path, url.searchParams),
    );
  }

  async function answerRest(
    world: GithubWorld,
    request: IncomingMessage,
    path: string,
    parameters: URLSearchParams,
  ): Promise<ApiAnswer> {
    const given =
      request.method === "POST" ? (JSON.parse(await text(request)) as NewPullRequest) : undefined;
    const about = answerPulls(world, path, parameters, given);
    return about ?? answerApi(world, path, parameters);
  }

  function answerGit(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const name = /^\/([^/]+\/[^/]+?)\.git\//.exec(url.pathname)?.[1];
    const repository = repositories.find((each) => each.name === name);
    const isKnown = tokens.has(tokenOf(request) ?? "");
    // Like GitHub: without a valid token the answer is 401, even for a repository that does not exist.
    const isPush = /git-receive-pack/.test(url.pathname + url.search);
    if (!isKnown && (!repository || repository.private || isPush)) {
      const headers = { "www-authenticate": 'Basic realm="GitHub"' };
      response.writeHead(401, headers).end("Repository not found.");
    } else if (!repository) {
      response.writeHead(404).end("Repository not found.");
    } else {
      const query = url.search.slice(1);
      const held = gate && { gate: gate.promise };
      const user = isKnown ? { user: account } : {};
      serveGit(request, response, { directory, path: url.pathname, query, ...user, ...held });
    }
  }

  const server = createServer({ key, cert: certificate }, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  startup.defer(async () => {
    gate?.resolve();
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  const proxy = await startConnectProxy(names, (server.address() as AddressInfo).port);
  startup.use(proxy);
  const owned = startup.move();
  return {
    environment: { HTTPS_PROXY: proxy.url, SSL_CERT_FILE: authorityFile },
    authorityFile,
    directory,
    requests,
    pullRequests,
    tokens,
    hold(held) {
      gate?.resolve();
      gate = held ? Promise.withResolvers() : undefined;
    },
    fail: (status) => void (failure = status),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The path inside the API; undefined if the address is not the API's. */
function apiPath(host: string, path: string): string | undefined {
  if (host === "api.github.com") return path;
  return host === enterpriseHost ? /^\/api(?:\/v3)?(\/.*)/.exec(path)?.[1] : undefined;
}

/** The token of a request: `gh` sends `token …`, git sends it as the password. */
function tokenOf(request: IncomingMessage): string | undefined {
  const [scheme = "", value = ""] = (request.headers.authorization ?? "").split(" ");
  if (scheme.toLowerCase() !== "basic") return value;
  return Buffer.from(value, "base64").toString().split(":")[1];
}

function send(response: ServerResponse, { status = 200, headers = {}, body }: ApiAnswer): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(JSON.stringify(body));
}
