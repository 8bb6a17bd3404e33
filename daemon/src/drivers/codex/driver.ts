// Codex, driven through one `codex app-server` for all sessions of one codex home (shared-server.ts). The
// process belongs to this daemon and ends with it; a session is then taken up again from codex's own
// transcript. What is not among its abilities:
// - `summarize`: summarize_session is for opencode alone; codex condenses by its command `compact`.
// - `fork` is nobody's yet.
// Costs are null: codex tells tokens and no money, and no price list of its models is known to us that we
// could name as a source. A price that somebody guessed would be worse than none.
import { accessSync, constants, mkdirSync } from "node:fs";
import type { AgentProblem } from "@hawser/contract";
import { capabilitiesOf, type Abilities, type Driver } from "../driver.ts";
import { listCommands } from "./commands.ts";
import { chooseSettings } from "./offer.ts";
import { findIgnoredConfig } from "./project-config.ts";
import { loadThread, openCodexSession } from "./session.ts";
import { threadSettings } from "./settings.ts";
import { callMs, fail, openSharedServer, unless, type CodexSettings } from "./shared-server.ts";
import { openThread } from "./thread.ts";

export function openCodexDriver(settings: CodexSettings): Driver {
  const { home, silenceMs = 600_000 } = settings;
  const shared = openSharedServer(settings);

  const abilities: Abilities = {
    diff: true,
    questions: true,
    revert: true,
    subAgents: true,
    shell: true,
    attachments: true,
    commands: {
      list: (directory, signal) =>
        shared.use(signal, ({ server }) => listCommands(server, directory).catch(fail)),
    },
  };

  return {
    kind: "codex",
    endsWithDaemon: true,
    abilities,
    sparsePatterns: [],
    // Codex is told with each thread not to trust the repository, so it runs nothing of its own accord.
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
        return { ...state, problems: [problem("not_installed", "Codex is not installed.")] };
      }
      const unwritable = homeProblem(home);
      if (unwritable) return { ...state, problems: [unwritable] };
      try {
        return await shared.use(signal, async (now) => {
          const { account, requiresOpenaiAuth } = await now.server.call("account/read", {}, callMs);
          const authenticated = account !== null || !requiresOpenaiAuth;
          const problems = [...now.problems];
          if (!authenticated) {
            const message =
              "Codex has no login on this host. Run `codex login` as the daemon's user.";
            problems.push(problem("not_logged_in", message));
          }
          return { ...state, authenticated, problems, options: now.offer.options };
        });
      } catch (error) {
        return { ...state, problems: [problem("does_not_start", (error as Error).message)] };
      }
    },

    listModels: (signal) => shared.use(signal, async ({ offer }) => offer.models),
    listModes: (_directory, signal) => shared.use(signal, async ({ offer }) => offer.modes),

    start: (place, sink, signal) =>
      shared.use(signal, async (now) => {
        const { server, threads } = now;
        const { model } = chooseSettings(now.offer, place);
        const asked = { ...threadSettings(place.directory), model };
        const { thread: made } = await server.call("thread/start", asked, callMs).catch(fail);
        const threadId = made.id;
        // Until it has a name or a turn, codex keeps a thread in memory only.
        const name = place.title ?? place.sessionId;
        await server.call("thread/name/set", { threadId, name }, callMs).catch(fail);
        const thread = openThread(server, { ...place, threadId, cursor: null, silenceMs });
        threads.set(threadId, thread);
        thread.listen(sink);
        return openCodexSession(shared, now, threadId, thread, place);
      }),

    resume: (kept, sink, signal) =>
      shared.use(signal, async (now) => {
        const { handle: threadId, directory, turnId } = kept;
        const known = now.threads.get(threadId);
        if (known) {
          known.listen(sink);
          return openCodexSession(shared, now, threadId, known, kept);
        }
        const { initialTurnsPage } = await loadThread(now, threadId, directory);
        const thread = openThread(now.server, { ...kept, threadId, silenceMs });
        now.threads.set(threadId, thread);
        thread.listen(sink);
        thread.catchUp(initialTurnsPage?.data[0], turnId !== null);
        return openCodexSession(shared, now, threadId, thread, kept);
      }),

    restart: (signal) => unless(signal, shared.stop("The agent was restarted.")),
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
