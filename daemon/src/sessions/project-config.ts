// Files of a repository that an agent would run without asking. Where there are some, no agent starts
// and no prompt is delivered.
import type { Driver } from "../drivers/driver.ts";
import type { Session } from "./session.ts";

export class ProjectConfigPresent extends Error {
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    const named = paths.slice(0, 5).join(", ");
    super(
      `The directory has files that the agent would run without asking: ${named}. Remove them, or work in a worktree.`,
    );
    this.paths = paths;
  }
}

/** Throws ProjectConfigPresent. */
export async function refuseProjectConfig(driver: Driver, directory: string): Promise<void> {
  const paths = await driver.findProjectConfig(directory);
  if (paths.length > 0) throw new ProjectConfigPresent(paths);
}

/** Throws ProjectConfigPresent, and notes it in the session's log. */
export async function checkProjectConfig(session: Session): Promise<void> {
  try {
    await refuseProjectConfig(session.driver, session.record!.directory);
  } catch (error) {
    if (error instanceof ProjectConfigPresent) {
      session.warn("a session's directory has configuration of its own", error);
      session.note({ sessionUpdate: "config_ignored", paths: [...error.paths] });
    }
    throw error;
  }
}
