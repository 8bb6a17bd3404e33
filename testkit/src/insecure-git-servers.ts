// Servers of git repositories without encryption, on loopback: one over http, which a test can make ask for
// a login or redirect, and git's own `git daemon`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBareRepository } from "./bare-repository.ts";
import { freePort } from "./free-port.ts";
import { serveGit } from "./git-server.ts";
import { removeDirectory } from "./remove-directory.ts";
import { stopProcess } from "./stop-process.ts";
import { until } from "./until.ts";

export interface InsecureGitServers extends AsyncDisposable {
  /** Such as http://127.0.0.1:1234. The repository is acme/widget.git. */
  httpUrl: string;
  gitUrl: string;
  /** The requests over http so far. */
  requests: { path: string; headers: IncomingHttpHeaders }[];
  /** What the http server does: it serves, asks for a login, or redirects to this address. */
  behaviour: "serve" | "login" | { redirectTo: string };
}

export async function startInsecureGitServers(): Promise<InsecureGitServers> {
  const directory = mkdtempSync(join(tmpdir(), "hawser-insecure-git-"));
  createBareRepository(directory, "acme/widget");
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? "/", "http://server");
    servers.requests.push({ path: pathname, headers: request.headers });
    const { behaviour } = servers;
    if (behaviour === "login") {
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    }
    if (behaviour !== "serve") {
      const location = `${behaviour.redirectTo}${pathname}${search}`;
      return void response.writeHead(302, { location }).end();
    }
    return serveGit(request, response, { directory, path: pathname, query: search.slice(1) });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = await freePort();
  const daemon = spawn(
    "git",
    ["daemon", "--export-all", "--listen=127.0.0.1", `--port=${port}`, `--base-path=${directory}`],
    { stdio: "ignore", detached: true },
  );
  const servers: InsecureGitServers = {
    httpUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    gitUrl: `git://127.0.0.1:${port}`,
    requests: [],
    behaviour: "serve",
    async [Symbol.asyncDispose]() {
      // `git` waits for the program that it starts, so both are ended.
      if (daemon.pid !== undefined && daemon.exitCode === null) process.kill(-daemon.pid);
      await stopProcess(daemon);
      server.closeAllConnections();
      server.close();
      removeDirectory(directory);
    },
  };
  await until("git daemon listens", () => isOpen(port));
  return servers;
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
