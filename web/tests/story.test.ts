// The story of a session on the pages, with a real agent: from an organization without hosts to the pull request, through
// faults in the middle of turns, and back from its end. It is played with opencode, and with HAWSER_LONG=1 with every kind.
import { test } from "node:test";
import {
  browserOffline,
  cuttableStreams,
  daemonKilled,
  nodeKilled,
  tabAsleep,
} from "./story-faults.ts";
import { assertNothingRefused, openStage, type Kind } from "./story-stage.ts";
import { ask, begin, choose, endAndRestore, goBack, push, queue, review } from "./story-steps.ts";

const all: Kind[] = ["opencode", "claude_code", "codex"];
const kinds = process.env["HAWSER_LONG"] === "1" ? all : all.slice(0, 1);

for (const kind of kinds) {
  test(`The story of a session of ${kind}, as a person sees it`, async (t) => {
    await using stage = await openStage(kind);
    await using daemons = new AsyncDisposableStack();
    const { page, world, dashboard } = stage;
    await page.addInitScript(cuttableStreams);
    const begun = await begin(stage);
    const { capabilities } = await world.caller.get_session_summary({ sessionId: begun.sessionId });
    const step = async (name: string, act: () => Promise<unknown>) => {
      const startedAt = performance.now();
      await act();
      t.diagnostic(`${name}: ${Math.round(performance.now() - startedAt)} ms`);
    };
    await step("a question", () => ask(stage));
    await step("the review", () => review(stage, begun));
    await step("the field", () => choose(stage, capabilities));
    await step("going back", () => goBack(stage, begun, capabilities));
    await step("the queue", () => queue(stage, begun));
    drop(dashboard.errors, unread);
    assertNothingRefused(stage);

    await step("the browser offline", () => browserOffline(stage, begun));
    await step("the node killed", () => nodeKilled(stage, begun));
    await step("the daemon killed", async () => daemons.use(await daemonKilled(stage, begun)));
    await step("the tab asleep", () => tabAsleep(stage, begun));
    // The browser reports what it could not reach.
    drop(dashboard.errors, /^Failed to load resource: (?:net::ERR_|.* a status of 503)/);

    await step("the push", () => push(stage, begun));
    await step("the end", () => endAndRestore(stage, begun));
    drop(dashboard.errors, unread);
    drop(dashboard.errors, queueRefused);
    assertNothingRefused(stage);
  });
}

/** A file may be read once more while a revert or the end of its session takes it away. */
const unread = /^Failed to load resource: .* a status of (?:404|409) .*get_session_file_diff$/;
/** After a fault: the queue is read from the host, which refuses it while it is not connected or the session ends. */
const queueRefused = /^Failed to load resource: .* a status of 409 .*list_queued_prompts$/;

/** Removes what was expected. */
function drop(errors: string[], expected: RegExp): void {
  errors.splice(0, Infinity, ...errors.filter((text) => !expected.test(text)));
}
