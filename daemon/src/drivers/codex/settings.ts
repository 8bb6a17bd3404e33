// Settings of the codex process, of each thread and of each turn. They are passed on the command line and
// in each call, and never written to the user's config.toml, which codex itself edits.
import { dirname } from "node:path";
import { realOf } from "../../real-path.ts";
import { readProjectNotes } from "../project-notes.ts";
import { readServers } from "../trusted-servers.ts";
import { gateSettings } from "./gate.ts";
import type { ThreadSettings } from "./protocol.ts";
import { profileName, sandboxNotes, type Place, type Profile } from "./sandbox.ts";
import { findRepository, type Repository } from "../../git/find-repository.ts";

/** Command-line arguments with the settings of the whole process. `gateway` is an address without secrets. */
export function processSettings(startId: string, gateway?: string): string[] {
  const settings: Record<string, string> = {
    check_for_update_on_startup: "false",
    suppress_unstable_features_warning: "true",
    "analytics.enabled": "false",
    // Allows questions outside of plan mode too.
    "features.default_mode_request_user_input": "true",
    // Otherwise a turn waits for the network without limit.
    "features.unbounded_connection_retries": "false",
    // Codex's own text says that all files can be read, and costs 15 ms per prompt in a worktree.
    include_permissions_instructions: "false",
    // An experiment without visible effect that costs 5 ms per prompt.
    "features.skill_search": "false",
    // The model searches and draws at its provider, where nobody sees what it asks for.
    web_search: '"disabled"',
    "features.image_generation": "false",
    // Without a terminal the input of a command is closed, so the model cannot type into a running shell.
    // Codex calls no hook for that.
    "features.unified_exec_tty": "false",
    // These features call a service in the background.
    "features.apps": "false",
    "features.plugins": "false",
    "features.remote_plugin": "false",
    // Commands get the environment of a login shell, and the start id by which they are found again.
    "shell_environment_policy.inherit": '"core"',
    "shell_environment_policy.set": `{HAWSER_AGENT="${startId}"}`,
    ...gateSettings(),
    ...(gateway !== undefined && {
      model_provider: '"gateway"',
      // The key is the one that codex has stored at its login.
      "model_providers.gateway": `{name="Gateway",base_url=${JSON.stringify(gateway)},wire_api="responses",requires_openai_auth=true}`,
    }),
  };
  return Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
}

const trustedServers = {
  file: "config.toml",
  field: "mcp_servers",
  fields: ["command", "args", "env", "cwd", "url", "http_headers"],
};

/** Settings of one thread. Sent at every start and resume, because codex does not store all of them. */
export function threadSettings(place: Place, profile: Profile): ThreadSettings {
  const { sessionId, directory, temporary, trusted } = place;
  const servers = readServers(trusted, trustedServers);
  const repository = findRepository(directory);
  const notes = readProjectNotes(directory);
  const instructions = notes === undefined ? [sandboxNotes] : [sandboxNotes, notes];
  return {
    cwd: directory,
    permissions: profileName,
    // The gate decides about every call; codex asks before a call leaves the sandbox (decision 0036).
    approvalPolicy: "on-request",
    approvalsReviewer: "user",
    developerInstructions: instructions.join("\n\n"),
    config: {
      projects: untrusted(directory, repository),
      permissions: { [profileName]: profile },
      "shell_environment_policy.set.TMPDIR": temporary,
      "shell_environment_policy.set.HAWSER_SESSION": sessionId,
      ...(Object.keys(servers).length > 0 && { mcp_servers: servers }),
    },
  };
}

/**
 * Marks the repository as untrusted. By default a writable sandbox makes it trusted, and codex runs the
 * commands in the repository's configuration before the call returns. Which path codex looks up depends on
 * how the checkout was made, so all possible paths are listed.
 */
function untrusted(directory: string, repository: Repository | undefined) {
  const paths = new Set([directory, realOf(directory)]);
  if (repository) {
    paths.add(dirname(repository.common));
    for (let at = realOf(directory); at !== dirname(repository.top); at = dirname(at)) {
      paths.add(at);
    }
  }
  return Object.fromEntries([...paths].map((path) => [path, { trust_level: "untrusted" }]));
}
