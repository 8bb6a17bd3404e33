// One process of Claude Code, which serves one session. It has its own process group and its start id in
// its environment, which its child processes inherit, so that all of them can be found and ended.
import { spawn, type ChildProcess } from "node:child_process";
import { childEnvironment, type Environment } from "../../environment.ts";
import { within } from "../../pause.ts";
import { signalGroup } from "../../signal-process.ts";
import { AgentNotReady, type Trusted } from "../driver.ts";
import type { ClaudeAccess } from "./access.ts";
import { endProcesses } from "./leftovers.ts";
import type { Message, UserMessage } from "./messages.ts";
import { untilRefreshed } from "./refresh-lock.ts";
import {
  loadSdk,
  type AskPermission,
  type HookInput,
  type HookOutput,
  type Initialized,
  type Query,
} from "./sdk.ts";
import { quiet } from "./switches.ts";
import { trustedOptions } from "./trusted-config.ts";

export interface ProcessSettings {
  program: string;
  startId: string;
  directory: string;
  environment: Environment;
  /** How a linked secret is used. Throws AgentNotReady if the account cannot be used now. */
  access?: (() => ClaudeAccess) | undefined;
  /** Claude Code's configuration directory. */
  config: string;
  /** The session to create or resume; undefined for a process that only reports what it offers. */
  session: { create: string } | { resume: string } | undefined;
  /** The repository's notes for agents. */
  notes: string | undefined;
  /** Parts of the repository's own configuration that the agent uses. */
  trusted?: Trusted | undefined;
  onMessage: (message: Message) => void;
  /** Decides about a tool call before it runs. Must not reject. */
  onHook: (hook: HookInput) => Promise<HookOutput>;
  onAsk: AskPermission;
  /** Called after the last message if the process ended by itself. */
  onEnd(why: string): void;
}

export interface ClaudeProcess {
  startId: string;
  query: Query;
  initialized: Initialized;
  send: (message: UserMessage) => void;
  /** Resolves to whether the process has read everything sent so far. */
  hasRead(): Promise<boolean>;
  /**
   * Ends the process and its child processes. A working process is interrupted first, because it writes
   * its transcript with a delay.
   */
  end(state: "idle" | "working" | "stuck"): Promise<void>;
}

/** By default, Claude Code removes transcripts that were not used for a month. */
const transcriptDays = 3650;
const startDeadlineMs = 20_000;
const interruptDeadlineMs = 1_000;
const endDeadlineMs = 3_000;

/**
 * Disables turns that Claude Code would start by itself: they belong to no prompt.
 * The plan is kept as one list. Few retries, so that a turn that cannot continue fails soon.
 */
const switches: Environment = {
  ...quiet,
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
  CLAUDE_CODE_DISABLE_CRON: "1",
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
  CLAUDE_CODE_ENABLE_TASKS: "0",
  CLAUDE_CODE_MAX_RETRIES: "4",
  // The policy reads commands as bash does.
  SHELL: "/bin/bash",
};

/** Tools that would work outside the session's directory, or after its process has ended. */
const withheldTools = [
  "EnterWorktree",
  "ExitWorktree",
  "CronCreate",
  "CronDelete",
  "CronList",
  "ScheduleWakeup",
];

/** Resolves when the process is ready for prompts. Throws AgentNotReady. */
export async function startProcess(
  settings: ProcessSettings,
  signal: AbortSignal,
): Promise<ClaudeProcess> {
  const { startId, session, notes } = settings;
  const access = settings.access?.();
  const environment = { ...settings.environment, ...access?.environment };
  const sdk = await loadSdk(settings.program).catch((cause: unknown) => {
    const problem = "Claude Code's install is incomplete: its SDK is missing. Install it again.";
    throw new AgentNotReady(problem, { cause });
  });
  const input = createInput();
  let child: ChildProcess | undefined;
  let errors = "";
  const query = sdk.query({
    prompt: input.messages,
    options: {
      cwd: settings.directory,
      env: childEnvironment({ ...switches, ...environment, HAWSER_AGENT: startId }),
      pathToClaudeCodeExecutable: settings.program,
      spawnClaudeCodeProcess({ command, args, cwd, env }) {
        child = spawn(command, args, { cwd, env, stdio: "pipe", detached: true });
        child.stderr?.on("data", (part: Buffer) => {
          errors = (errors + part.toString()).slice(-2_000);
        });
        // The end of the process is handled elsewhere, so a failed write is ignored.
        child.stdin?.on("error", () => {});
        return child;
      },
      ...(session && "create" in session ? { sessionId: session.create } : {}),
      ...(session && "resume" in session ? { resume: session.resume } : {}),
      permissionMode: "default",
      canUseTool: settings.onAsk,
      hooks: { PreToolUse: [{ hooks: [settings.onHook] }] },
      // Excludes the repository's settings: their hooks, servers and addresses would apply without asking.
      settingSources: ["user"],
      // Commands in the text of a skill or slash command would run without the hook.
      settings: {
        cleanupPeriodDays: transcriptDays,
        disableSkillShellExecution: true,
        ...access?.settings,
      },
      disallowedTools: withheldTools,
      ...trustedOptions(settings.trusted),
      systemPrompt: {
        type: "preset",
        preset: "claude_code",
        ...(notes === undefined ? {} : { append: notes }),
      },
      includePartialMessages: true,
      forwardSubagentText: true,
    },
  });

  let isReady = false;
  let isEnding = false;
  const run = async () => {
    const problem = await follow(query, settings.onMessage);
    await endProcesses((process) => process.startId === startId);
    if (isReady && !isEnding) settings.onEnd(errors.trim() || problem);
  };
  const ended = run();

  const end: ClaudeProcess["end"] = async (state) => {
    isEnding = true;
    if (state === "working")
      await within(
        interruptDeadlineMs,
        query.interrupt().catch(() => {}),
      );
    await untilRefreshed(settings.config);
    input.close();
    child?.stdin?.end();
    if (child && !hasExited(child)) {
      if (state === "stuck" || !(await exits(child, endDeadlineMs)))
        signalGroup(child.pid, "SIGKILL");
    }
    query.close();
    await endProcesses((process) => process.startId === startId);
    await within(endDeadlineMs, ended);
  };

  const hasRead = async () => {
    // Messages are written in order, so the answer to a later request proves that they were read.
    await new Promise((resolve) => setImmediate(resolve));
    return query.mcpServerStatus().then(
      () => true,
      () => false,
    );
  };

  try {
    const initialized = await ready(query.initializationResult(), signal);
    isReady = true;
    return { startId, query, initialized, send: input.send, hasRead, end };
  } catch (cause) {
    await end("stuck");
    const lastError = errors.trim().split("\n").at(-1);
    const problem = lastError ?? (cause instanceof Error ? cause.message : String(cause));
    throw new AgentNotReady(`Claude Code did not start. ${problem}`, { cause });
  }
}

/** Reads all messages. Returns why the process ended. */
async function follow(query: Query, onMessage: (message: Message) => void): Promise<string> {
  try {
    for await (const message of query) onMessage(message);
    return "Claude Code's process ended.";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function createInput() {
  const waiting: UserMessage[] = [];
  let isClosed = false;
  let wake = () => {};
  async function* messages() {
    for (;;) {
      const next = waiting.shift();
      if (isClosed) return;
      if (next) yield next;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  return {
    messages: messages(),
    send: (message: UserMessage) => {
      waiting.push(message);
      wake();
    },
    close() {
      isClosed = true;
      wake();
    },
  };
}

async function ready(initialized: Promise<Initialized>, signal: AbortSignal): Promise<Initialized> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(startDeadlineMs)]);
  return Promise.race([
    initialized,
    new Promise<never>((_, reject) => {
      deadline.addEventListener("abort", () => reject(new Error("It was not ready in time.")));
    }),
  ]);
}

const hasExited = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

function exits(child: ChildProcess, ms: number): Promise<boolean> {
  return within(ms, new Promise((resolve) => child.once("exit", resolve)));
}
