// opencode's own clients on exposures: the terminal client with the printed command, and the web page in Chromium.
// The requests arrive at a node that does not have the host's tunnel.
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { openBrowser } from "@hawser/testkit/browser.ts";
import { openTerminal } from "@hawser/testkit/terminal.ts";
import { assertEnded, openStream } from "../exposure-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { logOf, runTurn, saidIn, scripted, startSession } from "../session-steps.ts";

useWorld({ agents: true, hosts: 1, nodes: 2 });

/** A script for the model that does not contain its own answer, because clients show the script as well. */
const answering = (words: string, answer: string) =>
  scripted(words, { text: "@" }).replace(
    '"@"',
    `"${[...answer].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`,
  );

scenario(
  "The attach command works as it is printed: the terminal client shows the session, and answers a prompt",
  ["create_exposure.terminal"],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const { sessionId } = await startSession(caller, world.hosts[0]!, { title: "Shown outside" });
    await runTurn(caller, sessionId, answering("before", "Earlier"));
    // The host dials the first node. The second one has created the exposure, so it listens at its port.
    const second = world.callerFor(world.organizations[0].keys.owner, 1);
    const { attachCommand } = await second.create_exposure({
      instanceId,
      sessionId,
      ttlMinutes: 60,
    });
    using terminal = openTerminal(["sh", "-c", attachCommand], {
      PATH: `${dirname(await agentProgram("opencode"))}:${process.env["PATH"]}`,
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
    });
    await terminal.untilShown("Shown outside");
    await terminal.untilShown("Earlier");
    terminal.type(answering("Say it.", "Typed"));
    terminal.press("Enter");
    await terminal.untilShown("Typed");
    const events = await until(
      "the turn is in the log",
      30_000,
      () => logOf(caller, sessionId),
      (all) => saidIn(all).includes("Typed"),
    );
    assert.deepEqual(saidIn(events), ["Earlier", "Typed"]);
  },
);

scenario(
  "opencode's web page loads without an error in a browser, and a prompt is answered there",
  ["create_exposure.web"],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const { sessionId } = await startSession(caller, world.hosts[0]!, { title: "Seen in a page" });
    await runTurn(caller, sessionId, answering("before", "Earlier"));
    const second = world.callerFor(world.organizations[0].keys.owner, 1);
    const exposed = await second.create_exposure({ instanceId, sessionId, ttlMinutes: 60 });
    await using browser = await openBrowser(exposed);
    const { page, errors } = browser;
    await page.goto(exposed.url);
    await page.waitForLoadState("load");
    await page.getByText("Seen in a page").first().waitFor();
    await page.getByText("Earlier").first().waitFor();
    await page.locator("[contenteditable=true], textarea").last().click();
    await page.keyboard.type(answering("Say it.", "Typed"));
    await page.keyboard.press("Enter");
    await page.getByText("Typed", { exact: true }).first().waitFor();
    assert.deepEqual(errors, []);
  },
);

scenario(
  "Deleting an instance ends its exposures and removes the records of its sessions",
  ["delete_instance.records"],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const exposed = await caller.create_exposure({ instanceId, sessionId, ttlMinutes: 60 });
    const stream = await openStream(exposed);
    await caller.delete_instance({ instanceId });
    await stream.ended;
    await assertEnded(exposed);
    assertRefused(await caller.try("list_exposures", { instanceId }), 404, "not_found");
    const { exposureId } = exposed;
    assertRefused(await caller.try("revoke_exposure", { exposureId }), 404, "not_found");
    assertRefused(await caller.try("get_session_summary", { sessionId }), 404, "not_found");
    const { sessions } = await caller.search_sessions({});
    assert.ok(sessions.every((session) => session.instanceId !== instanceId));
  },
);
