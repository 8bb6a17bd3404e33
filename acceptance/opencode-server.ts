// The opencode server of a host, called directly with what its owner finds on the host's disk.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestHost } from "@hawser/testkit/host.ts";

export interface OpencodeCall {
  /** The directory that the opencode session works in. */
  directory: string;
  method?: string;
  body?: object;
}

/** Sends a request to the server, and returns its JSON. Throws if the server refuses it. */
export async function askOpencode<T>(
  host: TestHost,
  path: string,
  { directory, method = "GET", body }: OpencodeCall,
): Promise<T> {
  const file = join(host.stateDirectory, "opencode-server.json");
  const { port, password } = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
  const url = new URL(path, `http://127.0.0.1:${port}`);
  url.searchParams.set("directory", directory);
  const login = Buffer.from(`opencode:${password}`).toString("base64");
  const response = await fetch(url, {
    method,
    headers: { authorization: `Basic ${login}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.equal(response.status, 200, `${method} ${path}`);
  return (await response.json()) as T;
}

/** The ids of opencode's own sessions in a directory. */
export async function opencodeSessions(host: TestHost, directory: string): Promise<string[]> {
  const sessions = await askOpencode<{ id: string; directory: string }[]>(host, "/session", {
    directory,
  });
  return sessions.filter((each) => each.directory === directory).map(({ id }) => id);
}
