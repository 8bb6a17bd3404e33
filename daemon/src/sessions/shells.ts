// Shell commands of callers: the daemon runs them itself in the session's directory, beside the agent.
// The command's text stays in memory until the shell has it. The journal knows that a command runs, so
// its end is recorded whatever is killed; the log gets its output.
import { CommandRefusal } from "../command-refusal.ts";
import { checkPromptChoices } from "../drivers/offer.ts";
import { makeStartId } from "../drivers/start-id.ts";
import { childEnvironment } from "../environment.ts";
import { findProgram } from "../find-program.ts";
import type { DrivenSession, KeptShell } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { within } from "../pause.ts";
import { requireReadable } from "../policy/forbidden.ts";
import { makeShellId } from "./ids.ts";
import { checkProjectConfig } from "./project-config.ts";
import { asRefusal } from "./refusals.ts";
import type { Session } from "./session.ts";
import {
  startShell,
  type RunningShell,
  type ShellEnd,
  type ShellOptions,
} from "./shell-process.ts";
import { untilWritten } from "./until-written.ts";

export interface WantedShell {
  sessionId: string;
  command: string;
  agent?: string | undefined;
  /** Who runs it, if a person does. */
  ownerId?: string | null | undefined;
}

const limits = { deadlineMs: 30 * 60_000, longestOutput: 4 * 1024 * 1024 };
const mostAtOnce = 5;
const endMs = 5_000;
/** How much of one command's output the next prompt carries to the agent, and of how many commands. */
const longestContext = 8_000;
const mostContext = 10;

/** Throws refusals. The returned function accepts the command, in the commit of the outcome. */
export async function acceptShell(
  session: Session,
  { command, agent, ownerId }: WantedShell,
  signal: AbortSignal,
): Promise<() => { shellId: string }> {
  const known = check(session);
  session.requireOwner(ownerId);
  try {
    const { driver } = session;
    if (!driver.abilities.shell) {
      const message = `${known.kind} sessions run no shell commands.`;
      throw new CommandRefusal("capability_missing", message);
    }
    if (agent !== undefined) {
      await checkProjectConfig(session);
      await checkPromptChoices(driver, { agent }, signal);
    }
  } catch (error) {
    throw asRefusal(error);
  }
  return () => {
    const { shells = [] } = check(session);
    const shell = { shellId: makeShellId(session.host.now()), agent: agent ?? null };
    session.change({ shells: [...shells, shell] });
    session.note({ sessionUpdate: "shell_started", ...shell });
    session.afterwards(() => run(session, shell, command));
    return { shellId: shell.shellId };
  };
}

function check(session: Session): DrivenSession {
  const record = session.require("shell");
  const policy = session.host.policy();
  if (!policy.shell) {
    requireReadable(policy);
    const message =
      "The host's policy file does not allow shell commands. The host's owner can allow them with \"shell = yes\".";
    throw new CommandRefusal("policy_forbids", message);
  }
  if ((record.shells?.length ?? 0) < mostAtOnce) return record;
  const message = `${mostAtOnce} shell commands run already. Wait for one, or stop them with abort_session.`;
  throw new CommandRefusal("too_many", message);
}

function run(session: Session, kept: KeptShell, command: string): void {
  const { closed, lane, stateDirectory, reap } = session.host;
  // The next daemon records that the command was cut.
  if (closed.aborted) return;
  const { shellId } = kept;
  const startId = makeStartId(stateDirectory);
  const options = {
    shell: findProgram("bash", process.env["PATH"])?.path ?? "/bin/sh",
    command,
    directory: session.record!.directory,
    // Not HAWSER_SESSION: processes with that mark are ended when an agent resumes the session.
    environment: childEnvironment({ HAWSER_AGENT: startId }),
    limits,
    onOutput: (text: string, offset: number) =>
      lane.text(session.id, null, { itemId: shellId, kind: "output", offset, text }),
  } satisfies ShellOptions;
  let shell: RunningShell;
  try {
    shell = startShell(startId, options);
  } catch (error) {
    // For example because the session's directory is gone.
    const reason = `It could not be started: ${describe(error)}`;
    return void recordEnd(session, kept, { exitCode: null, output: "", reason });
  }
  session.shells.set(shellId, { process: shell, recorded: follow() });

  async function follow(): Promise<void> {
    await recordEnd(session, kept, await shell.done);
    session.shells.delete(shellId);
    lane.finish(session.id, shellId);
    // Ends processes that have left the command's group.
    void reap();
  }
}

function recordEnd(session: Session, { shellId, agent }: KeptShell, end: ShellEnd): Promise<void> {
  const isThis = (shell: KeptShell) => shell.shellId === shellId;
  return untilWritten(session, "a shell command's end was not recorded", { shellId }, () =>
    session.commit(() => {
      const { shells = [], untold = [] } = session.record ?? {};
      if (!shells.some(isThis)) return;
      session.change({
        shells: shells.filter((shell) => !isThis(shell)),
        untold: [...untold, contextOf(end)].slice(-mostContext),
      });
      session.note({ sessionUpdate: "shell", shellId, ...end, agent });
    }),
  );
}

/** What the agent learns: the output without the command, which only the caller and the shell know. */
function contextOf({ exitCode, output, reason }: ShellEnd): string {
  const half = longestContext / 2;
  const isLong = output.length > longestContext;
  const shown = isLong ? `${output.slice(0, half)}\n…\n${output.slice(-half)}` : output;
  const how =
    exitCode === null ? (reason ?? "It was cut.") : `It ended with exit code ${exitCode}.`;
  return `<shell-output>\nThe user ran a shell command in the working directory. ${how} It wrote:\n${shown}\n</shell-output>`;
}

/** Ends the session's shell commands and waits until that is recorded. Returns how many there were. */
export async function endShells(session: Session, reason = "It was stopped."): Promise<number> {
  const running = [...session.shells.values()];
  for (const { process } of running) process.end(reason);
  await within(endMs, Promise.all(running.map(({ recorded }) => recorded)));
  return running.length;
}

/** Records the end of commands that ran when an earlier daemon was killed. Their processes carry a mark. */
export function recordCutShells(session: Session): void {
  const reason = "The daemon stopped while it ran. How far it got is not known.";
  for (const kept of session.record?.shells ?? []) {
    void recordEnd(session, kept, { exitCode: null, output: "", reason });
  }
}
