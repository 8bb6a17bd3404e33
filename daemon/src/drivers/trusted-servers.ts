// MCP servers of a trusted repository's configuration, reduced to what starts or reaches a server. Other
// fields could change what needs permission.
import { join } from "node:path";
import { readConfigFile } from "./config-file.ts";
import type { Trusted } from "./driver.ts";
import { isObject } from "./is-object.ts";

/** Otherwise a repository's server could have the name of a server of the host's user, and receive its secrets. */
const prefix = "repository-";

/** The servers in the field of a file, with these fields of each. Empty if the part is not trusted. */
export function readServers(
  trusted: Trusted | undefined,
  { file, field, fields }: { file: string; field: string; fields: readonly string[] },
): Record<string, Record<string, unknown>> {
  if (!trusted?.parts.includes("mcp_servers")) return {};
  const servers = readConfigFile(join(trusted.directory, file))?.[field];
  if (!isObject(servers)) return {};
  const named = Object.entries(servers).flatMap(([name, server]) => {
    if (!isObject(server) || !/^[\w-]{1,50}$/.test(name) || !isUsable(server)) return [];
    const known = Object.entries(server).filter(([key]) => fields.includes(key));
    return [[`${prefix}${name}`, Object.fromEntries(known)] as const];
  });
  return Object.fromEntries(named);
}

/** An agent may reject its whole configuration because of a server with neither a program nor an address. */
function isUsable({ command, url, enabled, disabled }: Record<string, unknown>): boolean {
  if (enabled === false || disabled === true) return false;
  const hasCommand = typeof command === "string" || isListOfTexts(command);
  return hasCommand ? url === undefined : command === undefined && typeof url === "string";
}

const isListOfTexts = (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string");
