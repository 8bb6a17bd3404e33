// The opencode server of a host, called directly with what its owner finds on the host's disk.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { FileChange } from "@hawser/contract";
import type { TestHost } from "@hawser/testkit/host.ts";

export interface OpencodeCall {
  /** The directory that the opencode session works in. */
  directory: string;
  method?: string;
  body?: object;
}

function send(
  host: TestHost,
  path: string,
  { directory, method = "GET", body }: OpencodeCall,
): Promise<Response> {
  const file = join(host.stateDirectory, "opencode-server.json");
  const { port, password } = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
  const url = new URL(path, `http://127.0.0.1:${port}`);
  url.searchParams.set("directory", directory);
  const login = Buffer.from(`opencode:${password}`).toString("base64");
  return fetch(url, {
    method,
    headers: { authorization: `Basic ${login}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** Sends a request to the server, and returns its JSON. Throws if the server refuses it. */
export async function askOpencode<T>(host: TestHost, path: string, call: OpencodeCall): Promise<T> {
  const response = await send(host, path, call);
  assert.equal(response.status, 200, path);
  return (await response.json()) as T;
}

/** Whether opencode has a session with this id of its own. */
export async function hasOpencodeSession(
  host: TestHost,
  id: string,
  directory: string,
): Promise<boolean> {
  const { status } = await send(host, `/session/${id}`, { directory });
  assert.ok([200, 404].includes(status), `opencode answered ${status}`);
  return status === 200;
}

/** The ids of opencode's own sessions in a directory. */
export async function opencodeSessions(host: TestHost, directory: string): Promise<string[]> {
  const sessions = await askOpencode<{ id: string; directory: string }[]>(host, "/session", {
    directory,
  });
  return sessions.filter((each) => each.directory === directory).map(({ id }) => id);
}

/** The files that opencode's edits changed, with the lines that opencode itself counted. */
export async function opencodeEdits(
  host: TestHost,
  directory: string,
): Promise<Pick<FileChange, "path" | "added" | "removed">[]> {
  const [id] = await opencodeSessions(host, directory);
  const messages = await askOpencode<{ parts: ToolPart[] }[]>(host, `/session/${id}/message`, {
    directory,
  });
  return messages
    .flatMap(({ parts }) => parts)
    .flatMap(({ tool, state }) => (tool === "edit" ? [state!.metadata!.filediff!] : []))
    .map(({ file, additions, deletions }) => ({
      path: relative(directory, file),
      added: additions,
      removed: deletions,
    }));
}

/** The fields that are used here of one part of a message from opencode. */
interface ToolPart {
  tool?: string;
  state?: { metadata?: { filediff?: { file: string; additions: number; deletions: number } } };
}
