// Files and settings of a repository that an agent would run without asking. Where there are some, no agent
// starts and no prompt is delivered.
import type { Driver } from "../drivers/driver.ts";
import type { HostParts, Session } from "./session.ts";

export class ProjectConfigPresent extends Error {
  /** The files; empty if it is git's own configuration. */
  readonly paths: readonly string[];

  constructor(message: string, paths: readonly string[] = []) {
    super(message);
    this.paths = paths;
  }
}

const list = (names: readonly string[]) => names.slice(0, 5).join(", ");

/** Throws ProjectConfigPresent. */
export async function refuseProjectConfig(
  { agentGit }: Pick<HostParts, "agentGit">,
  driver: Driver,
  directory: string,
): Promise<void> {
  const paths = await driver.findProjectConfig(directory);
  if (paths.length > 0) {
    throw new ProjectConfigPresent(
      `The directory has plugins of the agent, or settings that are not known to be harmless: ${list(paths)}. Remove them (in an existing session: run_shell), or start a session in a worktree, which leaves them out.`,
      paths,
    );
  }
  const programs = await agentGit.findPrograms(directory);
  if (programs.length > 0) {
    throw new ProjectConfigPresent(
      `The repository's own git configuration names programs that the agent's git would run without asking: ${list(programs)}. Remove these settings, or move them to the configuration of the host's user with git config --global.`,
    );
  }
}

/** Throws ProjectConfigPresent, and notes it in the session's log. */
export async function checkProjectConfig(session: Session): Promise<void> {
  try {
    await refuseProjectConfig(session.host, session.driver, session.record!.directory);
  } catch (error) {
    if (error instanceof ProjectConfigPresent) {
      session.warn("a session's directory has configuration of its own", error);
      if (error.paths.length > 0)
        session.note({ sessionUpdate: "config_ignored", paths: [...error.paths] });
    }
    throw error;
  }
}
