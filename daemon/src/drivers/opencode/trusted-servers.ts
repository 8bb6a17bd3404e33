// Adds the MCP servers of a trusted repository to opencode, for the session's directory only. opencode
// forgets them when it ends, so they are added again whenever a session is attached.
import type { SessionSettings } from "../driver.ts";
import { readServers } from "../trusted-servers.ts";
import type { Api } from "./api.ts";

export const trustable = { skills: {}, mcp_servers: { "opencode.json": "opencode.json" } };

const trustedServers = {
  file: "opencode.json",
  field: "mcp",
  fields: ["type", "command", "environment", "url", "headers"],
};
/** A server that does not start in this time is left out. */
const addMs = 10_000;

/** Returns the names of the servers. One that does not start has no tools, and the session goes on. */
export async function addTrustedServers(
  api: Api,
  { trusted, directory }: Pick<SessionSettings, "trusted" | "directory">,
  onProblem: (error: unknown, name: string) => void,
): Promise<string[]> {
  const servers = readServers(trusted, trustedServers);
  const adding = Object.entries(servers).map(([name, config]) =>
    api
      .request("POST", "/mcp", { directory, body: { name, config }, deadlineMs: addMs })
      .catch((error: unknown) => onProblem(error, name)),
  );
  await Promise.all(adding);
  return Object.keys(servers);
}
