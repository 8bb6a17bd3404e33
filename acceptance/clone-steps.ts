// Steps of scenarios about sessions in their own clone: hosts whose git and `gh` reach a stand-in for
// GitHub, and waiting until a clone is under way.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { writeCodexHome } from "@hawser/testkit/codex-home.ts";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import type { HostedRepository } from "@hawser/testkit/github-world.ts";
import { startHost, type TestHost } from "@hawser/testkit/host.ts";
import { writeOpencodeHome } from "@hawser/testkit/opencode-home.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { until, type Context } from "./scenario.ts";

export const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", stdio: "pipe" }).trim();

export interface Hosting {
  github: () => Github;
  /** A directory for this file's scenarios. */
  place: string;
  /** Adds a host. Its daemon keeps its files in `directory`; in the world's directory if undefined. */
  addHost: (context: Context, directory?: string) => Promise<TestHost>;
  /** A host that several scenarios share; they must leave it unchanged. */
  sharedHost: (context: Context) => Promise<TestHost>;
}

/** Starts the stand-in before this file's first scenario, and stops it after the last. */
export function useGithub(token: string, repositories: readonly HostedRepository[]): Hosting {
  const place = mkdtempSync(join(tmpdir(), "hawser-clone-sessions-"));
  let github: Github | undefined;
  let homes = 0;
  let shared: Promise<TestHost> | undefined;
  before(async () => {
    github = await startGithub({ token, repositories });
  });
  after(async () => {
    await github?.[Symbol.asyncDispose]();
    removeDirectory(place);
  });

  function addHost({ world, caller }: Context, directory?: string): Promise<TestHost> {
    const home = join(place, `home-${++homes}`);
    const environment = makeGithubHome(github!, home, { token });
    const modelUrl = world.model!.url;
    writeOpencodeHome(home, modelUrl);
    writeCodexHome(join(home, ".codex"), modelUrl);
    if (directory === undefined) return world.addHost({ environment });
    return startHost(caller, world.baseUrl, directory, { environment, modelUrl });
  }

  return {
    github: () => github!,
    place,
    addHost,
    sharedHost: (context) => (shared ??= addHost(context)),
  };
}

export const checkoutsOf = (host: TestHost) => readdirSync(join(host.stateDirectory, "checkouts"));

/** Waits until the clone of the newest session receives objects, and returns the session's record. */
export async function untilReceiving({ caller }: Context, { instanceId }: TestHost) {
  const newest = async () => (await caller.list_sessions({ instanceId, limit: 1 })).sessions[0];
  const session = await until("it is on record", 10_000, newest, (found) => found !== undefined);
  await until(
    // The host first probes its agent, whose first start takes seconds on a busy machine.
    "it receives",
    60_000,
    async () => (await caller.get_instance({ instanceId })).operations,
    (operations) =>
      operations.some(
        ({ subject, step }) => subject.includes(session!.sessionId) && step === "receiving objects",
      ),
  );
  return session!;
}

/** Processes of git that name something below a directory. */
export function processesAt(directory: string): string[] {
  const listed = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
  return listed.split("\n").filter((line) => line.includes(`${directory}/`));
}
