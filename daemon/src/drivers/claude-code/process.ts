// One process of Claude Code, which serves one session. It leads a process group of its own and carries
// its start id in its environment, as does whatever it starts, so that nothing of it is left behind.
import { spawn, type ChildProcess } from "node:child_process";
import { childEnvironment, type Environment } from "../../environment.ts";
import { within } from "../../pause.ts";
import { AgentNotReady } from "../driver.ts";
import { endProcesses } from "./leftovers.ts";
import type { Message, UserMessage } from "./messages.ts";
import {
  loadSdk,
  type AskPermission,
  type Decision,
  type HookInput,
  type Initialized,
  type Query,
} from "./sdk.ts";

export interface ProcessSettings {
  program: string;
  startId: string;
  directory: string;
  environment: Environment;
  /** The session that it makes, or takes up. */
  session: { made: string } | { resumed: string } | undefined;
  /** The repository's notes, as text. */
  notes: string | undefined;
  onMessage: (message: Message) => void;
  ask: AskPermission;
  decide: (input: HookInput) => Decision;
  /** After the last message. */
  onEnd(why: string): void;
}

export interface ClaudeProcess {
  startId: string;
  query: Query;
  initialized: Initialized;
  send: (message: UserMessage) => void;
  /** Whether it has read what was sent until now. */
  hasRead(): Promise<boolean>;
  /**
   * Ends it and whatever it has started. One that works is interrupted first, so that its transcript has
   * everything; it is written with some delay.
   */
  end(state: "idle" | "working" | "stuck"): Promise<void>;
}

/** Claude Code removes transcripts of sessions that rested for a month, unless it is told otherwise. */
const keptDays = 3650;
const startDeadlineMs = 20_000;
const interruptDeadlineMs = 1_000;
const endDeadlineMs = 3_000;

/**
 * Which of its habits Claude Code has here. It does not replace itself and reports nothing to anyone. It
 * starts no turns by itself: those belong to no prompt, and what it would wait for ends with the process.
 * It keeps its plan as one list. Retries stay short, so that a turn that cannot go on says so soon.
 */
const habits: Environment = {
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
  CLAUDE_CODE_DISABLE_CRON: "1",
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
  CLAUDE_CODE_ENABLE_TASKS: "0",
  CLAUDE_CODE_MAX_RETRIES: "4",
};

/** They would work elsewhere than in the session's directory, or after its process is gone. */
const withheld = [
  "EnterWorktree",
  "ExitWorktree",
  "CronCreate",
  "CronDelete",
  "CronList",
  "ScheduleWakeup",
];

/** Resolves when it is ready for prompts. Throws AgentNotReady. */
export async function startProcess(
  settings: ProcessSettings,
  signal: AbortSignal,
): Promise<ClaudeProcess> {
  const { startId, session, notes } = settings;
  const sdk = await loadSdk(settings.program).catch((cause: unknown) => {
    const problem = "Claude Code's install is not whole: its SDK is missing. Install it again.";
    throw new AgentNotReady(problem, { cause });
  });
  const input = openInput();
  let child: ChildProcess | undefined;
  let errors = "";
  const query = sdk.query({
    prompt: input.messages,
    options: {
      cwd: settings.directory,
      env: childEnvironment({ ...habits, ...settings.environment, HAWSER_AGENT: startId }),
      pathToClaudeCodeExecutable: settings.program,
      spawnClaudeCodeProcess({ command, args, cwd, env }) {
        child = spawn(command, args, { cwd, env, stdio: "pipe", detached: true });
        child.stderr?.on("data", (part: Buffer) => {
          errors = (errors + part.toString()).slice(-2_000);
        });
        // A process that is gone is noticed by its end, not by what is written to it.
        child.stdin?.on("error", () => {});
        return child;
      },
      ...(session && "made" in session ? { sessionId: session.made } : {}),
      ...(session && "resumed" in session ? { resume: session.resumed } : {}),
      permissionMode: "default",
      canUseTool: settings.ask,
      hooks: { PreToolUse: [{ hooks: [(hook) => Promise.resolve(decisionOf(settings, hook))] }] },
      // Not the repository's own: its hooks, servers and addresses would take effect unasked.
      settingSources: ["user"],
      settings: { cleanupPeriodDays: keptDays },
      disallowedTools: withheld,
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
    input.close();
    child?.stdin?.end();
    if (child && !hasExited(child)) {
      if (state === "stuck" || !(await exits(child, endDeadlineMs))) killGroup(child);
    }
    query.close();
    await endProcesses((process) => process.startId === startId);
    await within(endDeadlineMs, ended);
  };

  const hasRead = async () => {
    // What is sent is written first; that a later question is answered proves that it was read.
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
    const said = errors.trim().split("\n").at(-1);
    const problem = said ?? (cause instanceof Error ? cause.message : String(cause));
    throw new AgentNotReady(`Claude Code did not start. ${problem}`, { cause });
  }
}

/** Reads to the end; what the SDK says of it, if it was no good one. */
async function follow(query: Query, onMessage: (message: Message) => void): Promise<string> {
  try {
    for await (const message of query) onMessage(message);
    return "Claude Code's process ended.";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function decisionOf({ decide }: ProcessSettings, hook: HookInput) {
  const permissionDecision = decide(hook);
  if (permissionDecision === undefined) return {};
  const permissionDecisionReason =
    permissionDecision === "deny"
      ? "The host's policy refuses to write outside the session's directory."
      : "The host's policy decides.";
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse" as const,
      permissionDecision,
      permissionDecisionReason,
    },
  };
}

function openInput() {
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
  const patience = AbortSignal.any([signal, AbortSignal.timeout(startDeadlineMs)]);
  return Promise.race([
    initialized,
    new Promise<never>((_, reject) => {
      patience.addEventListener("abort", () => reject(new Error("It was not ready in time.")));
    }),
  ]);
}

const hasExited = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

function exits(child: ChildProcess, ms: number): Promise<boolean> {
  return within(ms, new Promise((resolve) => child.once("exit", resolve)));
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Gone by itself.
  }
}
