// Where the story of a session is played: a person's browser, a world whose first host that person pairs, and a stand-in
// for GitHub. The agent is real; the model's answers are in the prompts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Calls } from "@hawser/testkit/caller.ts";
import { openDashboard, type Dashboard } from "@hawser/testkit/dashboard.ts";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import { startHost, type TestHost } from "@hawser/testkit/host.ts";
import { stepsOf, type KindSteps } from "@hawser/testkit/kind-steps.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { scripted, type Step } from "@hawser/testkit/scripted-steps.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

export type Kind = keyof typeof stepsOf;

export interface Stage extends AsyncDisposable {
  kind: Kind;
  steps: KindSteps;
  world: World;
  github: Github;
  dashboard: Dashboard;
  page: Dashboard["page"];
  /** Pairs the machine, as the command from the page does. */
  pair: (token: string) => Promise<TestHost>;
}

/** A real agent on a busy machine takes long to start. */
const patienceMs = 90_000;
const repository = "acme/widget";

export async function openStage(kind: Kind): Promise<Stage> {
  await using parts = new AsyncDisposableStack();
  const place = mkdtempSync(join(tmpdir(), "hawser-web-story-"));
  parts.defer(() => removeDirectory(place));
  const github = parts.use(
    await startGithub({ token: "gho_story", repositories: [{ name: repository }] }),
  );
  const world = parts.use(await startWorld({ nodes: 1, nats: 1, agents: [kind], named: true }));
  const dashboard = parts.use(await openDashboard(world, { role: "owner" }));
  const { page } = dashboard;
  page.setDefaultTimeout(patienceMs);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const pair = async (token: string) => {
    const { instances } = await world.caller.list_instances({});
    const made = { instance: instances[0]!, pairingToken: token };
    const caller = new Proxy(world.caller, {
      get: (calls, name) =>
        name === "create_instance" ? async () => made : calls[name as keyof Calls],
    });
    const directory = join(place, "host");
    // The stand-in for GitHub is behind a proxy; the model is not.
    const home = makeGithubHome(github, join(directory, "home"), { token: "gho_story" });
    const environment = { ...home, NO_PROXY: "127.0.0.1" };
    const agents = { agents: [kind], modelUrl: world.model!.url };
    const host = await startHost(caller, world.baseUrl, directory, {
      environment,
      ...agents,
    });
    owned.use(host);
    const origin = join(github.directory, `${repository}.git`);
    git(host.repository, "fetch", "--quiet", origin, "main");
    git(host.repository, "reset", "--quiet", "--hard", "FETCH_HEAD");
    git(host.repository, "remote", "add", "origin", `https://github.com/${repository}.git`);
    return host;
  };
  const owned = parts.move();
  return {
    kind,
    steps: stepsOf[kind],
    world,
    github,
    dashboard,
    page,
    pair,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export const git = (directory: string, ...args: string[]): string =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", stdio: "pipe" }).trim();

/** Sends a prompt with the answers of the model. */
export async function prompt({ page }: Stage, words: string, ...answers: Step[]): Promise<void> {
  const box = page.getByLabel("Message");
  await box.fill(answers.length > 0 ? scripted(words, ...answers) : words);
  await box.press("Enter");
}

/** Waits for what the agent says. */
export const said = ({ page }: Stage, text: string): Promise<void> =>
  page.locator(".log").getByText(text, { exact: true }).waitFor();

export const sessionIdOf = ({ page }: Stage): string => /ses_\w+/.exec(page.url())![0];

/** Cards are deaf at first, so that no key that was meant for something else answers. */
export const untilCardHears = ({ page }: Stage): Promise<void> => page.waitForTimeout(600);

export function assertNothingRefused({ dashboard: { violations, errors } }: Stage): void {
  assert.deepEqual([violations, errors], [[], []]);
}
