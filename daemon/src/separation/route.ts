// Which worker of a separated host carries out a command.
import { AgentKind } from "@hawser/contract";
import { hostCommands, type CommandBody, type HostCommand } from "@hawser/host-protocol";

/**
 * - front: the front itself.
 * - everywhere: every worker, and the results are joined.
 * - own: the worker with the host's own logins.
 * - session: the worker that has the session.
 * - restore: the worker that has the parked files, for a session that continues with them.
 * - owner: the worker of a person. `makes`: whether the person gets one, if they have none.
 * - start: the worker of the person if it has an account of this kind, else the own one. `others`: the kinds of the
 *   fallback chain. `originalId`: a session that must be in the same worker.
 */
export type Route =
  | { to: "front" | "everywhere" | "own" }
  | { to: "session"; sessionId: string }
  | { to: "restore"; sessionId: string; parkedId: string; ownerId: string | null }
  | { to: "owner"; ownerId: string; makes: boolean }
  | {
      to: "start";
      sessionId: string;
      ownerId: string | null;
      kind: AgentKind;
      others: AgentKind[];
      originalId: string | undefined;
    };

/** exposure: the worker that has the session for the scope of a port, else the own one. */
type Way = Route["to"] | "exposure";

const ways: Record<HostCommand, Way> = {
  refresh_host_facts: "front",
  update_daemon: "front",
  pin_command_keys: "front",
  renew_token: "front",
  forget_host: "front",
  list_agents: "front",
  install_agent: "front",
  list_directories: "own",
  browse_directory: "own",
  list_github_repos: "own",
  clone_repository: "own",
  list_agent_kinds: "own",
  list_models: "own",
  check_exposure: "exposure",
  open_tunnel: "exposure",
  list_session_ports: "session",
  restart_agent: "everywhere",
  list_identities: "everywhere",
  list_parked_sessions: "everywhere",
  start_login: "owner",
  read_login: "owner",
  submit_login: "owner",
  link_identity: "owner",
  unlink_identity: "owner",
  start_session: "start",
  start_session_in_clone: "start",
  fork_session: "start",
  restore_session: "restore",
  end_session: "session",
  send_prompt: "session",
  run_command: "session",
  summarize_session: "session",
  run_shell: "session",
  list_queued_prompts: "session",
  update_queued_prompt: "session",
  hold_queued_prompt: "session",
  move_queued_prompt: "session",
  remove_queued_prompt: "session",
  send_queued_prompt_now: "session",
  list_session_rules: "session",
  forget_session_rule: "session",
  answer_request: "session",
  abort_turn: "session",
  revert_session: "session",
  describe_session: "session",
  list_session_commands: "session",
  watch_session: "session",
  diff_session: "session",
  read_session_git: "session",
  diff_session_file: "session",
  rename_session: "session",
  set_session_mode: "session",
  share_session: "session",
  push_session: "session",
};

/** A command that this version does not know, or whose payload it cannot read, is refused by the front. */
export function routeOf({ command, payload }: CommandBody): Route {
  if (!Object.hasOwn(hostCommands, command)) return { to: "front" };
  const way = ways[command as HostCommand];
  const text = (name: string) => {
    const value = payload[name];
    return typeof value === "string" ? value : undefined;
  };
  const [sessionId, ownerId] = [text("sessionId"), text("ownerId")];
  switch (way) {
    case "session":
      return sessionId === undefined ? { to: "front" } : { to: way, sessionId };
    case "exposure":
      return routeOfScope(payload["scope"]);
    case "restore": {
      const parkedId = text("parkedId");
      if (sessionId === undefined || parkedId === undefined) return { to: "front" };
      return { to: way, sessionId, parkedId, ownerId: ownerId ?? null };
    }
    case "owner": {
      const makes = command === "start_login" || command === "link_identity";
      return ownerId === undefined ? { to: "front" } : { to: way, ownerId, makes };
    }
    case "start": {
      const kind = text("kind") as AgentKind | undefined;
      if (sessionId === undefined || kind === undefined) return { to: "front" };
      const originalId = text("originalId");
      const others = kindsOfChain(payload["fallback"]);
      return { to: way, sessionId, ownerId: ownerId ?? null, kind, others, originalId };
    }
    default:
      return { to: way };
  }
}

function kindsOfChain(fallback: unknown): AgentKind[] {
  const { chain } = (fallback ?? {}) as { chain?: unknown };
  const entries = Array.isArray(chain) ? (chain as ({ kind?: unknown } | null)[]) : [];
  return entries.flatMap((entry) => AgentKind.safeParse(entry?.kind).data ?? []);
}

function routeOfScope(scope: unknown): Route {
  const { kind, sessionId } = (scope ?? {}) as { kind?: unknown; sessionId?: unknown };
  // opencode always runs with the host's own logins.
  if (kind !== "port") return { to: "own" };
  return typeof sessionId === "string" ? { to: "session", sessionId } : { to: "front" };
}
