// Configuration of a repository that the organization trusts, as parts that the driver makes: a plugin with
// skills, commands, sub-agents and hooks, and a list of MCP servers. Claude Code never reads the repository's
// settings file, which could also change addresses, logins and permissions.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { readConfigFile } from "../config-file.ts";
import type { Trusted } from "../driver.ts";
import { isObject } from "../is-object.ts";
import { readServers } from "../trusted-servers.ts";
import { plainText } from "./plain-text.ts";
import type { QueryOptions } from "./sdk.ts";

/** Claude Code puts it before the names of what a plugin contains: `repository:deploy`. */
const pluginName = "repository";

/** Whether a command or skill is the repository's. */
export const isOfRepository = (name: string) => name.startsWith(`${pluginName}:`);

export const trustable = {
  skills: { ".claude/skills": "plugin/skills" },
  commands: { ".claude/commands": "plugin/commands", ".claude/agents": "plugin/agents" },
  mcp_servers: { ".mcp.json": "servers.json" },
  hooks: { ".claude/settings.json": "settings.json" },
};

const trustedServers = {
  file: "servers.json",
  field: "mcpServers",
  fields: ["type", "command", "args", "env", "url", "headers"],
};

/** Writes the plugin directory, and returns the options that make Claude Code load it. */
export function trustedOptions(
  trusted: Trusted | undefined,
): Pick<QueryOptions, "plugins" | "mcpServers"> {
  if (!trusted) return {};
  const plugin = join(trusted.directory, "plugin");
  write(join(plugin, ".claude-plugin"), "plugin.json", { name: pluginName, version: "1.0.0" });
  makePlain(plugin);
  const hooks = readHooks(trusted);
  if (hooks) write(join(plugin, "hooks"), "hooks.json", { hooks });
  return {
    plugins: [{ type: "local", path: plugin }],
    mcpServers: readServers(trusted, trustedServers),
  };
}

/**
 * Removes hidden files and files with unexpected names, because Claude Code would load them too. Rewrites all
 * other texts: their front matter could contain hooks.
 */
function makePlain(plugin: string): void {
  for (const folder of ["skills", "commands", "agents"]) {
    const top = join(plugin, folder);
    if (!existsSync(top)) continue;
    if (!statSync(top).isDirectory()) {
      rmSync(top);
      continue;
    }
    const paths = readdirSync(top, { recursive: true, encoding: "utf8" });
    for (const path of paths) {
      const file = join(top, path);
      if (!existsSync(file)) continue;
      const isText = /\.md$/i.test(path);
      if (isHidden(path) || (isText && hasUnexpectedName(folder, path)))
        rmSync(file, { recursive: true });
      else if (isText && statSync(file).isFile()) {
        const text = readFileSync(file, "utf8");
        writeFileSync(file, plainText(text, { keepsName: folder === "agents" }));
      }
    }
  }
}

const isHidden = (path: string) => path.split("/").some((step) => step.startsWith("."));

/** Claude Code ignores case in file names, and loads a SKILL.md among the commands as a skill. */
function hasUnexpectedName(folder: string, path: string): boolean {
  const isSkill = /^skill\.md$/i.test(basename(path));
  if (!path.endsWith(".md")) return true;
  return isSkill && (folder !== "skills" || basename(path) !== "SKILL.md");
}

function readHooks({ parts, directory }: Trusted): object | undefined {
  if (!parts.includes("hooks")) return undefined;
  const hooks = readConfigFile(join(directory, "settings.json"))?.["hooks"];
  return isObject(hooks) ? hooks : undefined;
}

function write(directory: string, name: string, content: object): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(join(directory, name), JSON.stringify(content), { mode: 0o600 });
}
