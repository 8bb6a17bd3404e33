// Which worker gets a command: every command has a way, and the field that the way needs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hostCommands, type HostCommand } from "@hawser/host-protocol";
import { routeOf, type Route } from "./route.ts";

const bodyOf = (command: string, payload: Record<string, unknown>) => ({
  command,
  deadlineAt: "2030-01-01T00:00:00Z",
  actor: { type: "user", id: "usr_a" },
  payload,
});

const everything = {
  sessionId: "ses_1",
  originalId: "ses_0",
  parkedId: "ses_9",
  ownerId: "usr_a.1",
  kind: "codex",
};

const session: Route = { to: "session", sessionId: "ses_1" };
const start: Route = {
  to: "start",
  sessionId: "ses_1",
  ownerId: "usr_a.1",
  kind: "codex",
  others: [],
  originalId: undefined,
};
const owner = (makes: boolean): Route => ({ to: "owner", ownerId: "usr_a.1", makes });

/** The route of a payload that has exactly the fields of the command. */
const expected: Record<HostCommand, Route> = {
  refresh_host_facts: { to: "front" },
  update_daemon: { to: "front" },
  pin_command_keys: { to: "front" },
  renew_token: { to: "front" },
  forget_host: { to: "front" },
  list_agents: { to: "front" },
  install_agent: { to: "front" },
  list_directories: { to: "own" },
  browse_directory: { to: "own" },
  list_github_repos: { to: "own" },
  clone_repository: { to: "own" },
  list_agent_kinds: { to: "own" },
  list_models: { to: "own" },
  check_exposure: { to: "own" },
  open_tunnel: { to: "own" },
  list_session_ports: session,
  list_session_commands: session,
  restart_agent: { to: "everywhere" },
  list_identities: { to: "everywhere" },
  list_parked_sessions: { to: "everywhere" },
  start_login: owner(true),
  read_login: owner(false),
  submit_login: owner(false),
  link_identity: owner(true),
  unlink_identity: owner(false),
  start_session: start,
  start_session_in_clone: start,
  fork_session: { ...start, originalId: "ses_0" },
  restore_session: { to: "restore", sessionId: "ses_1", parkedId: "ses_9", ownerId: "usr_a.1" },
  end_session: session,
  send_prompt: session,
  run_command: session,
  summarize_session: session,
  run_shell: session,
  answer_request: session,
  abort_turn: session,
  revert_session: session,
  describe_session: session,
  watch_session: session,
  diff_session: session,
  read_session_git: session,
  diff_session_file: session,
  rename_session: session,
  set_session_mode: session,
  list_queued_prompts: session,
  update_queued_prompt: session,
  hold_queued_prompt: session,
  move_queued_prompt: session,
  remove_queued_prompt: session,
  send_queued_prompt_now: session,
  list_session_rules: session,
  forget_session_rule: session,
  share_session: session,
  push_session: session,
};

/** The fields of a command's payload that a route can use. */
function fieldsOf(command: HostCommand): Record<string, unknown> {
  const { shape } = hostCommands[command].payload as { shape: object };
  return Object.fromEntries(Object.entries(everything).filter(([name]) => name in shape));
}

test("every command goes where its sessions or its person are", () => {
  for (const command of Object.keys(hostCommands) as HostCommand[]) {
    assert.deepEqual(routeOf(bodyOf(command, fieldsOf(command))), expected[command], command);
  }
});

test("a command with a session, a person or a parked session is never left to all or to the front", () => {
  for (const command of Object.keys(hostCommands) as HostCommand[]) {
    if (Object.keys(fieldsOf(command)).some((name) => name !== "kind")) {
      const { to } = routeOf(bodyOf(command, fieldsOf(command)));
      assert.ok(["session", "owner", "start", "restore"].includes(to), command);
    }
  }
});

test("a payload without the needed fields, or with others in their place, goes to the front", () => {
  for (const command of Object.keys(hostCommands) as HostCommand[]) {
    const { to } = expected[command];
    const needsNothing = ["front", "own", "everywhere"].includes(to);
    for (const odd of [undefined, null, 7, {}, ["ses_1"], true]) {
      const payload = Object.fromEntries(Object.keys(everything).map((name) => [name, odd]));
      const route = routeOf(bodyOf(command, odd === undefined ? {} : payload));
      assert.deepEqual(route, { to: needsNothing ? to : "front" }, command);
    }
  }
});

test("access to a port goes where its session is, access to opencode to the host's own logins", () => {
  const scopes: [unknown, Route][] = [
    [{ kind: "port", sessionId: "ses_1", port: 5173 }, session],
    [{ kind: "port", port: 5173 }, { to: "front" }],
    [{ kind: "port", sessionId: ["ses_1"], port: 5173 }, { to: "front" }],
    [{ kind: "session", sessionId: "ses_1" }, { to: "own" }],
    [{ kind: "instance" }, { to: "own" }],
    ["port", { to: "own" }],
  ];
  for (const command of ["check_exposure", "open_tunnel"]) {
    for (const [scope, route] of scopes) {
      assert.deepEqual(routeOf(bodyOf(command, { scope })), route, JSON.stringify(scope));
    }
  }
});

test("a session without a person is that of the host's own logins", () => {
  for (const ownerId of [null, undefined]) {
    const route = routeOf(bodyOf("start_session", { ...fieldsOf("start_session"), ownerId }));
    assert.deepEqual(route, { ...start, ownerId: null });
  }
});

test("an unknown command goes to the front, also one that every object has", () => {
  for (const command of ["unknown", "", "constructor", "__proto__", "toString"]) {
    assert.deepEqual(routeOf(bodyOf(command, everything)), { to: "front" }, command);
  }
});
