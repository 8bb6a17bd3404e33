// Shell commands of callers: the daemon runs them itself in the session's directory, beside the agent.
// What a command is stays in memory until the shell has it; the journal knows that one runs, so that its
// end is told whatever is killed, and the log gets what it gave.
import { CommandRefusal } from "../command-refusal.ts";
import { makeStartId } from "../drivers/start-id.ts";
import { childEnvironment } from "../environment.ts";
import { findProgram } from "../find-program.ts";
import type { DrivenSession, KeptShell } from "../journal/driven-sessions.ts";
import { within } from "../pause.ts";
import { openIdle } from "./admission.ts";
import { chooseForPrompt } from "./choices.ts";
import { checkProjectConfig, driverOf, mayWork, note, type Core, type Live } from "./core.ts";
import { makeShellId } from "./ids.ts";
import { asRefusal } from "./refusals.ts";
import { startShell, type ShellEnd } from "./shell-process.ts";
import { untilWritten } from "./until-written.ts";

export interface WantedShell {
  sessionId: string;
  command: string;
  agent?: string | undefined;
}

const limits = { deadlineMs: 30 * 60_000, longestOutput: 4 * 1024 * 1024 };
const mostAtOnce = 5;
const endMs = 5_000;
/** What the agent is told of one command's output, and of how many. */
const longestTold = 8_000;
const mostTold = 10;

/** Throws refusals. What it gives takes the command when called, with the outcome of being asked. */
export async function takeShell(
  core: Core,
  { sessionId, command, agent }: WantedShell,
  signal: AbortSignal,
): Promise<() => { shellId: string }> {
  const known = checkMayRun(core, sessionId);
  try {
    const driver = driverOf(core, known.kind);
    if (!driver.abilities.shell) {
      throw new CommandRefusal(
        "capability_missing",
        `${known.kind} sessions run no shell commands.`,
      );
    }
    if (agent !== undefined) {
      await checkProjectConfig(core, driver, known);
      await chooseForPrompt(driver, { agent }, known, signal);
    }
  } catch (error) {
    throw asRefusal(error);
  }
  return () => {
    const session = checkMayRun(core, sessionId);
    const kept = { shellId: makeShellId(core.now()), agent: agent ?? null };
    core.journal.driven.change(sessionId, { shells: [...(session.shells ?? []), kept] });
    // Once it is on disk that one runs.
    setImmediate(() => run(core, session, kept, command));
    return { shellId: kept.shellId };
  };
}

function checkMayRun(core: Core, sessionId: string): DrivenSession {
  const session = openIdle(core, sessionId);
  // What it wrote meanwhile would be gone, and nothing would have kept it.
  if (core.live(sessionId).reverting) {
    const message = "The session is being reverted. Try again when that is over.";
    throw new CommandRefusal("turn_running", message);
  }
  if (!core.policy().shell) {
    const message = "The host's policy file does not allow shell commands.";
    throw new CommandRefusal("policy_forbids", message);
  }
  if ((session.shells?.length ?? 0) < mostAtOnce) return session;
  const message = `${mostAtOnce} shell commands run already. Wait for one, or stop them with abort_session.`;
  throw new CommandRefusal("too_many", message);
}

function run(core: Core, session: DrivenSession, kept: KeptShell, command: string): void {
  // The next daemon tells that it was cut.
  if (core.closed.aborted) return;
  const { sessionId, directory } = session;
  const { shellId } = kept;
  const now = core.journal.driven.get(sessionId);
  // That it is taken may not have got to disk; then whoever asks again has it run.
  if (!now?.shells?.some((shell) => shell.shellId === shellId)) return;
  if (!mayWork(now)) {
    const end = { exitCode: null, output: "", reason: "The session was ended." };
    return void record(core, sessionId, kept, end);
  }
  const live = core.live(sessionId);
  const startId = makeStartId(core.stateDirectory);
  const shell = startShell(startId, {
    shell: findProgram("bash", process.env["PATH"])?.path ?? "/bin/sh",
    command,
    directory,
    // Not HAWSER_SESSION: what carries that is ended when an agent's process takes the session up again.
    environment: childEnvironment({ HAWSER_AGENT: startId }),
    limits,
    onOutput: (text, offset) =>
      core.lane.text(sessionId, null, { itemId: shellId, kind: "output", offset, text }),
  });
  live.shells.set(shellId, { process: shell, recorded: follow() });

  async function follow(): Promise<void> {
    await record(core, sessionId, kept, await shell.done);
    live.shells.delete(shellId);
    core.lane.finish(sessionId, shellId);
    // What has left its group.
    void core.reap();
  }
}

function record(core: Core, sessionId: string, kept: KeptShell, end: ShellEnd): Promise<void> {
  const about = { sessionId, shellId: kept.shellId };
  return untilWritten(core, "a shell command's end was not recorded", about, () =>
    core.journal.atOnce(() => noteEnd(core, sessionId, kept, end)),
  );
}

function noteEnd(core: Core, sessionId: string, kept: KeptShell, end: ShellEnd): void {
  const session = core.journal.driven.get(sessionId);
  const { shellId, agent } = kept;
  if (!session?.shells?.some((shell) => shell.shellId === shellId)) return;
  const shells = session.shells.filter((shell) => shell.shellId !== shellId);
  const untold = [...(session.untold ?? []), toldOf(end)].slice(-mostTold);
  core.journal.driven.change(sessionId, { shells, untold });
  note(core, sessionId, { sessionUpdate: "shell", shellId, ...end, agent });
}

/** The output without the command: that is nobody's business but the caller's and the shell's. */
function toldOf({ exitCode, output, reason }: ShellEnd): string {
  const half = longestTold / 2;
  const shown =
    output.length <= longestTold ? output : `${output.slice(0, half)}\n…\n${output.slice(-half)}`;
  const how =
    exitCode === null ? (reason ?? "It was cut.") : `It ended with exit code ${exitCode}.`;
  return `<shell-output>\nThe user ran a shell command in the working directory. ${how} It wrote:\n${shown}\n</shell-output>`;
}

/** Ends those of a session and waits until that is on record; how many there were. */
export async function endShells(
  core: Core,
  sessionId: string,
  reason = "It was stopped.",
): Promise<number> {
  const running = [...core.live(sessionId).shells.values()];
  for (const { process } of running) process.end(reason);
  await within(endMs, Promise.all(running.map(({ recorded }) => recorded)));
  return running.length;
}

/** The daemon stops, and none may go on without it. */
export async function closeShells(core: Core, sessionIds: Iterable<string>): Promise<void> {
  const all = [...sessionIds];
  await Promise.all(all.map((id) => endShells(core, id, "The daemon was stopped while it ran.")));
}

/** Those that ran when an earlier daemon was killed: their processes are found and ended by their mark. */
export function recordCutShells(core: Core, { sessionId, shells = [] }: DrivenSession): void {
  const reason = "The daemon went away while it ran. How far it got is not known.";
  for (const kept of shells) {
    void record(core, sessionId, kept, { exitCode: null, output: "", reason });
  }
}

/** Starts of processes that are somebody's. */
export function shellStarts(lives: Iterable<Live>): string[] {
  return [...lives].flatMap(({ shells }) =>
    [...shells.values()].map(({ process }) => process.startId),
  );
}
