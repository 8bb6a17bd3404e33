// The driver for codex: one `codex app-server` for all sessions of one codex home (shared-server.ts). The
// process ends with the daemon; sessions are then resumed from codex's transcripts.
//
// The ability `summarize` is missing: codex condenses its history by the slash command `compact`.
// Costs are null: codex reports tokens only, and there is no reliable price list of its models.
import { accessSync, constants, mkdirSync } from "node:fs";
import type { AgentProblem } from "@hawser/contract";
import { abortable } from "../abortable.ts";
import {
  capabilitiesOf,
  notInstalled,
  type Abilities,
  type Driver,
  type SessionSettings,
} from "../driver.ts";
import { readLogin } from "./account.ts";
import { listCommands } from "./commands.ts";
import { chooseSettings } from "./offer.ts";
import { findIgnoredConfig } from "./project-config.ts";
import { makePlace } from "./sandbox.ts";
import { checkProfile, loadThread, openCodexSession } from "./session.ts";
import { threadSettings } from "./settings.ts";
import { callMs, fail, createSharedServer, type CodexSettings } from "./shared-server.ts";
import { createThread } from "./thread.ts";

export function createCodexDriver(settings: CodexSettings): Driver {
  const { home, silenceMs = 600_000 } = settings;
  const shared = createSharedServer(settings);
  const placeOf = ({ sessionId, directory, trusted }: SessionSettings) => ({
    ...makePlace(directory, settings.temporaryDirectory, sessionId),
    trusted,
  });
  const onGateFailure = (why: string) => shared.failGate(why);

  const abilities: Abilities = {
    diff: true,
    fork: true,
    questions: true,
    revert: true,
    subAgents: true,
    shell: true,
    attachments: true,
    commands: {
      list: (directory = "/", signal) =>
        shared.use(signal, ({ server }) => listCommands(server, directory).catch(fail)),
    },
  };

  return {
    kind: "codex",
    endsWithDaemon: true,
    hasSandbox: true,
    abilities,
    // Codex reads the texts of skills in any repository, and its hooks are the daemon's alone.
    trustable: { skills: {}, mcp_servers: { ".codex/config.toml": "config.toml" } },
    sparsePatterns: [],
    // Each thread marks the repository as untrusted, so codex ignores the repository's configuration.
    findProjectConfig: async () => [],
    findIgnoredConfig: async (directory) => findIgnoredConfig(directory),

    async readState(signal) {
      const program = settings.program();
      const state = {
        installed: program !== undefined,
        version: program?.version ?? null,
        authenticated: false,
        capabilities: capabilitiesOf({ abilities }),
        options: [],
      };
      if (!program) {
        return { ...state, problems: [problem("not_installed", notInstalled("Codex"))] };
      }
      const unwritable = homeProblem(home);
      if (unwritable) return { ...state, problems: [unwritable] };
      try {
        return await shared.use(signal, async (live) => {
          const { account, requiresOpenaiAuth } = await readLogin(live.server);
          const authenticated = account !== null || !requiresOpenaiAuth;
          const problems = [...live.problems];
          if (!authenticated) {
            const message =
              "Codex has no login on this host. Run `codex login` as the daemon's user.";
            problems.push(problem("not_logged_in", message));
          }
          return { ...state, authenticated, problems, options: live.offer.options };
        });
      } catch (error) {
        return { ...state, problems: [problem("does_not_start", (error as Error).message)] };
      }
    },

    readUtilization: () => shared.readUtilization(),
    listModels: (signal) => shared.use(signal, async ({ offer }) => offer.models),
    listModes: (signal) => shared.use(signal, async ({ offer }) => offer.modes),

    start: (session, sink, signal) =>
      shared.use(signal, async (live) => {
        const { server, threads } = live;
        const { model } = chooseSettings(live.offer, session);
        const place = placeOf(session);
        const wanted = { ...threadSettings(place, live.profileOf(place)), model };
        const loaded = await server.call("thread/start", wanted, callMs).catch(fail);
        checkProfile(loaded);
        const threadId = loaded.thread.id;
        // Codex stores a thread only once it has a name or a turn.
        const name = session.title ?? session.sessionId;
        await server.call("thread/name/set", { threadId, name }, callMs).catch(fail);
        const options = { ...session, threadId, cursor: null, silenceMs, onGateFailure };
        const thread = createThread(server, options);
        threads.set(threadId, thread);
        thread.reportTo(sink, session.decide);
        return openCodexSession(shared, live, threadId, thread, () => placeOf(session));
      }),

    resume: (session, sink, signal) =>
      shared.use(signal, async (live) => {
        const { handle: threadId, turnId } = session;
        const known = live.threads.get(threadId);
        if (known) {
          known.reportTo(sink, session.decide);
          return openCodexSession(shared, live, threadId, known, () => placeOf(session));
        }
        const { initialTurnsPage } = await loadThread(live, threadId, placeOf(session));
        const thread = createThread(live.server, {
          ...session,
          threadId,
          silenceMs,
          onGateFailure,
        });
        live.threads.set(threadId, thread);
        thread.reportTo(sink, session.decide);
        thread.catchUp(initialTurnsPage?.data[0], turnId !== null);
        return openCodexSession(shared, live, threadId, thread, () => placeOf(session));
      }),

    restart(signal) {
      shared.forgetQuota();
      return abortable(signal, shared.stop("The agent was restarted."));
    },
    close: () => shared.close(),
    liveStarts: () => shared.liveStarts(),
  };
}

function homeProblem(home: string): AgentProblem | undefined {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    accessSync(home, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    const message = `Codex's directory ${home} cannot be written: ${(error as Error).message}.`;
    return problem("home_not_writable", message);
  }
}

const problem = (code: string, message: string): AgentProblem => ({ code, message });
