// Faults in the middle of a turn. At each the page says what it knows, and in the end it shows the complete log.
import assert from "node:assert/strict";
import { runDaemon, untilStatus } from "@hawser/testkit/host.ts";
import { prompt, untilCardHears, type Stage } from "./story-stage.ts";
import type { Begun } from "./story-steps.ts";
import { assertWholeLog } from "./whole-log.ts";

const lost = "The connection is lost. This is how it looked at";
const running = "Stop the turn";

/** Texts that take some seconds, with a command between them that a person has to allow. */
const longTurn = ({ steps }: Stage, name: string) => [
  { text: `${name} begins. `.repeat(12).trim(), paceMs: 250, ...steps.command(`echo ${name}`) },
  { text: `${name} ends.` },
];

/** Not the prompt, which contains the text too. */
const agentSays = (page: Stage["page"], text: string) =>
  page.locator(".log .prose:not(.plain)", { hasText: text });

async function beginTurn(stage: Stage, name: string): Promise<void> {
  const { page } = stage;
  await prompt(stage, `Work on ${name}.`, ...longTurn(stage, name));
  await agentSays(page, `${name} begins.`).first().waitFor();
}

/** Allows as somebody else does, while this page sees nothing of it. */
async function allowElsewhere({ world: { caller } }: Stage, sessionId: string): Promise<void> {
  for (;;) {
    const { requests } = await caller.list_pending_requests({ sessionId });
    const [request] = requests;
    if (request) {
      await caller.answer_permission({ requestId: request.requestId, answer: "once" });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function untilTurnEnds({ world: { caller } }: Stage, sessionId: string): Promise<void> {
  for (;;) {
    const { live } = await caller.get_session_summary({ sessionId });
    if (live?.status !== "running") return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function allowHere(stage: Stage): Promise<void> {
  const card = stage.page.getByRole("region", { name: "Permission request" });
  await card.getByRole("button", { name: "Allow once" }).waitFor();
  await untilCardHears(stage);
  await card.getByRole("button", { name: "Allow once" }).click();
}

/** The turn has ended, the page says nothing of a fault any more, and it shows all that is stored. */
async function assertHealed(stage: Stage, { sessionId }: Begun, last: string): Promise<void> {
  const { page, world } = stage;
  await agentSays(page, last)
    .or(page.locator(".log .turn-end", { hasText: last }))
    .last()
    .waitFor();
  await page.getByRole("button", { name: running }).waitFor({ state: "detached" });
  await page.locator(".strip").waitFor({ state: "detached" });
  await page.locator(".ask-card").waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.keyboard.press("e");
  await assertWholeLog(page, world.caller, sessionId);
  await page.keyboard.press("e");
  await page.keyboard.press("End");
}

/** Runs in the page before its scripts: `cutStreams` breaks the open streams as a lost network does. */
export function cuttableStreams(): void {
  const fetch = window.fetch.bind(window);
  const cuts: AbortController[] = [];
  window.fetch = (input, init) => {
    if (typeof input !== "string" || !input.includes("/events")) return fetch(input, init);
    const cut = new AbortController();
    cuts.push(cut);
    return fetch(input, { ...init, signal: AbortSignal.any([init!.signal!, cut.signal]) });
  };
  Object.assign(window, { cutStreams: () => cuts.forEach((cut) => cut.abort()) });
}

/** The browser goes offline and comes back. */
export async function browserOffline(stage: Stage, begun: Begun): Promise<void> {
  const { page } = stage;
  await beginTurn(stage, "alpha");
  // Going offline breaks no connection that Chromium has.
  await page.context().setOffline(true);
  await page.evaluate(() => (window as unknown as { cutStreams: () => void }).cutStreams());
  await allowElsewhere(stage, begun.sessionId);
  await page.getByText(lost).first().waitFor();
  assert.equal(await agentSays(page, "alpha ends.").count(), 0);
  await page.context().setOffline(false);
  await page.getByText(/Caught up: \d+ entr/).waitFor();
  await assertHealed(stage, begun, "alpha ends.");
}

/** The only node is killed and started again. The agent works meanwhile. */
export async function nodeKilled(stage: Stage, begun: Begun): Promise<void> {
  const { page, world } = stage;
  await beginTurn(stage, "beta");
  world.nodes[0]!.process.kill("SIGKILL");
  await page.getByText("Reconnecting", { exact: true }).waitFor();
  await page.getByText(lost).first().waitFor();
  await world.restartNode();
  await allowHere(stage);
  await page.getByText("Live", { exact: true }).waitFor();
  await assertHealed(stage, begun, "beta ends.");
}

/** The daemon is killed and started again. What becomes of the turn is the agent's. */
export async function daemonKilled(stage: Stage, begun: Begun): Promise<AsyncDisposable> {
  const { page, world } = stage;
  const { host } = begun;
  await beginTurn(stage, "gamma");
  host.process.kill("SIGKILL");
  await page.getByText("The host is offline. The agent may still be working there").waitFor();
  await page.getByText("The host is offline, so nothing can be sent now.").waitFor();
  await page.getByText("Was working when the host was lost").waitFor();
  const daemon = runDaemon(host.stateDirectory, host.environment);
  await untilStatus(world.caller, host.instanceId, "online", 60_000);
  await page.getByText("The host is offline.").first().waitFor({ state: "detached" });
  if (stage.kind === "opencode") {
    await allowHere(stage);
    await assertHealed(stage, begun, "gamma ends.");
  } else {
    await assertHealed(stage, begun, "This turn is not run again.");
  }
  return daemon;
}

/** The tab is put to sleep by the browser: no timer runs and nothing is read. */
export async function tabAsleep(stage: Stage, begun: Begun): Promise<void> {
  const { page } = stage;
  await beginTurn(stage, "delta");
  const card = page.getByRole("region", { name: "Permission request" });
  await card.waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
  await allowElsewhere(stage, begun.sessionId);
  await untilTurnEnds(stage, begun.sessionId);
  await devtools.send("Page.setWebLifecycleState", { state: "active" });
  await page.bringToFront();
  // Somebody else has answered. It says so until it is put away.
  await card.getByText(/first: allowed\./).waitFor();
  await card.getByRole("button", { name: "Put away" }).click();
  await assertHealed(stage, begun, "delta ends.");
}
