// Every command that the control plane can send to this host, under its name on the wire. An entry
// says how the command is carried out; work that is longer than a few lines has a file beside this one.
import { AgentKind } from "@hawser/contract";
import type { HostCommand } from "@hawser/host-protocol";
import { GhError } from "../code-hosting/gh.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { requireReadable } from "../policy/forbidden.ts";
import { asRefusal } from "../sessions/refusals.ts";
import type { Command } from "./command.ts";
import { describeAgentKind } from "./describe-agent-kind.ts";
import { orderInstall } from "./order-install.ts";
import { orderUpdate } from "./order-update.ts";
import { showParkedSessions } from "./show-parked-sessions.ts";

export type Catalogue = { [Name in HostCommand]: Command<Name> };

export const catalogue: Catalogue = {
  // The host itself.
  refresh_host_facts: {
    repeatable: true,
    async run(_payload, { bootId, journal, refreshFacts }) {
      const facts = await refreshFacts();
      return () => ({ runs: journal.count("refresh_host_facts"), facts, bootId });
    },
  },
  update_daemon: { repeatable: true, run: (_payload, context) => orderUpdate(context) },
  pin_command_keys: {
    repeatable: true,
    run({ keys }, { pinCommandKeys }) {
      pinCommandKeys(keys);
      return {};
    },
  },
  renew_token: {
    repeatable: true,
    run(_payload, { renewToken }) {
      renewToken();
      return {};
    },
  },
  forget_host: {
    repeatable: true,
    endsHost: true,
    run(_payload, { forgetCredentials }) {
      forgetCredentials();
      return {};
    },
  },

  // Directories and repositories.
  list_directories: {
    run: async (_payload, { directories }) => ({ roots: await directories.list() }),
  },
  browse_directory: {
    async run({ path }, { directories, policy }) {
      requireReadable(policy());
      const contents = await directories.browse(path);
      if (contents) return contents;
      // The same words for a directory that is missing and for one that callers may not see.
      throw new CommandRefusal(
        "not_found",
        "There is no such directory below the host's roots. list_directories shows the roots.",
      );
    },
  },
  list_github_repos: {
    async run(wanted, { codeHosting, signal }) {
      try {
        return await codeHosting.list(wanted, signal);
      } catch (error) {
        throw error instanceof GhError ? new CommandRefusal(error.problem, error.message) : error;
      }
    },
  },
  clone_repository: {
    // A crash may have come just after the clone got its name; only a person can tell.
    repeatable: false,
    run(wanted, { clones, policy, signal }) {
      requireReadable(policy());
      return clones.clone(wanted, signal);
    },
  },

  // Agents.
  list_agents: {
    async run(_payload, { installs, refreshFacts }) {
      const { agents } = installs?.readFacts() ?? (await refreshFacts());
      return { agents };
    },
  },
  list_agent_kinds: {
    async run(_payload, context) {
      const kinds = AgentKind.options.map((kind) => describeAgentKind(kind, context));
      return { agentKinds: await Promise.all(kinds) };
    },
  },
  list_models: {
    async run({ kind }, { sessions, signal }) {
      try {
        return { agentKind: kind, ...(await sessions.readyDriver(kind).listModels(signal)) };
      } catch (error) {
        throw asRefusal(error);
      }
    },
  },
  install_agent: { repeatable: true, run: orderInstall },
  restart_agent: {
    repeatable: true,
    async run({ kind }, { sessions, signal }) {
      return { detachedSessionIds: await sessions.restartAgent(kind, signal) };
    },
  },

  // Direct access to an agent, or to a server that a session runs.
  check_exposure: { run: ({ scope }, { exposures, signal }) => exposures.check(scope, signal) },
  list_session_ports: {
    run: ({ sessionId }, { exposures }) => ({ ports: exposures.listPorts(sessionId) }),
  },
  open_tunnel: {
    repeatable: true,
    run: (wanted, { exposures, signal }) => exposures.open(wanted, signal),
  },

  // People's agent accounts.
  list_identities: {
    run: async (_payload, { identities, signal }) => ({
      identities: await identities.list(signal),
      separated: false,
      sealingKey: await identities.sealingKey(),
    }),
  },
  start_login: {
    // The program that waited for the person has ended with the daemon, and its address is worth nothing.
    repeatable: false,
    run: (wanted, { identities, signal }) => identities.startLogin(wanted, signal),
  },
  read_login: {
    run: ({ loginId, ownerId }, { identities }) => identities.readLogin(loginId, ownerId),
  },
  submit_login: {
    repeatable: false,
    run: ({ loginId, ownerId, code }, { identities }) =>
      identities.submitLogin(loginId, ownerId, code),
  },
  link_identity: {
    repeatable: true,
    run: (wanted, { identities, signal }) => identities.link(wanted, signal),
  },
  unlink_identity: {
    repeatable: true,
    async run({ ownerId, kind }, { identities, signal }) {
      return { unlinked: await identities.unlink(ownerId, kind, signal) };
    },
  },

  // Starting, restoring and ending a session. The daemon undoes a start that a crash interrupted.
  start_session: {
    repeatable: false,
    run: (wanted, { sessions, signal }) => sessions.start(wanted, signal),
  },
  start_session_in_clone: {
    repeatable: false,
    run: (wanted, { sessions, signal }) => sessions.start(wanted, signal),
  },
  fork_session: {
    repeatable: false,
    run: (wanted, { sessions, signal }) => sessions.fork(wanted, signal),
  },
  list_parked_sessions: { run: (_payload, { sessions }) => showParkedSessions(sessions) },
  restore_session: {
    repeatable: false,
    run: (wanted, { sessions, signal }) => sessions.restore(wanted, signal),
  },
  end_session: {
    repeatable: true,
    async run({ sessionId }, { sessions }) {
      await sessions.end(sessionId);
      return {};
    },
  },

  // Work in a session. A prompt, a slash command, a summary and a shell command are accepted in the
  // transaction that records the outcome, so one that a crash interrupted was not accepted.
  send_prompt: {
    repeatable: true,
    run: (wanted, { sessions, signal }) => sessions.prompt(wanted, signal),
  },
  run_command: {
    repeatable: true,
    run: ({ command, arguments: text, ...wanted }, { sessions, signal }) =>
      sessions.prompt({ ...wanted, text, task: { type: "command", name: command } }, signal),
  },
  summarize_session: {
    repeatable: true,
    run: ({ sessionId, ownerId }, { sessions }) => sessions.summarize(sessionId, ownerId),
  },
  run_shell: {
    repeatable: true,
    run: (wanted, { sessions, signal }) => sessions.runShell(wanted, signal),
  },

  // The prompts that wait. Each change is made in the transaction that records the outcome, too.
  list_queued_prompts: { run: (wanted, { sessions }) => sessions.queue.list(wanted) },
  update_queued_prompt: {
    repeatable: true,
    run: (wanted, { sessions }) => sessions.queue.update(wanted),
  },
  hold_queued_prompt: {
    repeatable: true,
    run: (wanted, { sessions }) => sessions.queue.hold(wanted),
  },
  move_queued_prompt: {
    repeatable: true,
    run: (wanted, { sessions }) => sessions.queue.move(wanted),
  },
  remove_queued_prompt: {
    repeatable: true,
    run: (wanted, { sessions }) => sessions.queue.remove(wanted),
  },
  send_queued_prompt_now: {
    repeatable: true,
    run: (wanted, { sessions }) => sessions.queue.sendNow(wanted),
  },

  list_session_rules: { run: ({ sessionId }, { sessions }) => sessions.listRules(sessionId) },
  forget_session_rule: {
    repeatable: true,
    run: (wanted, { sessions }) => sessions.forgetRule(wanted),
  },
  answer_request: {
    // An agent accepts one answer, and reports when it has one already.
    repeatable: true,
    run: (wanted, { sessions, signal }) => sessions.answer(wanted, signal),
  },
  abort_turn: {
    repeatable: true,
    run: ({ sessionId }, { sessions }) => sessions.abort(sessionId),
  },
  revert_session: {
    repeatable: false,
    async run({ sessionId, messageId }, { sessions, signal }) {
      await sessions.revert(sessionId, messageId, signal);
      return {};
    },
  },

  // Reading, naming and publishing a session.
  describe_session: { run: ({ sessionId }, { sessions }) => sessions.describe(sessionId) },
  list_session_commands: {
    run: async ({ sessionId }, { sessions, signal }) => ({
      commands: await sessions.listCommands(sessionId, signal),
    }),
  },
  watch_session: { run: ({ sessionId }, { sessions }) => ({ open: sessions.watch(sessionId) }) },
  diff_session: {
    run: ({ sessionId }, { sessions, signal }) => sessions.diff(sessionId, signal),
  },
  diff_session_file: {
    run: ({ sessionId, ...page }, { sessions, signal }) =>
      sessions.diffFile(sessionId, page, signal),
  },
  read_session_git: {
    run: ({ sessionId }, { sessions, signal }) => sessions.readGit(sessionId, signal),
  },
  rename_session: {
    repeatable: true,
    async run({ sessionId, title }, { sessions, signal }) {
      await sessions.rename(sessionId, title, signal);
      return {};
    },
  },
  set_session_mode: {
    repeatable: true,
    run({ sessionId, mode, ownerId }, { sessions }) {
      sessions.setMode(sessionId, mode, ownerId);
      return {};
    },
  },
  share_session: {
    repeatable: true,
    run({ sessionId, ownerId, guests }, { sessions }) {
      sessions.share(sessionId, ownerId, guests);
      return {};
    },
  },
  push_session: {
    // A second run pushes no commit twice, and finds the pull request that is open.
    repeatable: true,
    run: (wanted, { sessions, signal }) => sessions.push(wanted, signal),
  },
};
