// One session's whole story, on the real agents with real git and the real `gh` against a stand-in for
// GitHub: from the pairing of its host to the pull request, and back from its end. Played for each kind,
// and once more through MCP.
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { AgentKind } from "@hawser/contract";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { readSession } from "@hawser/testkit/session-reader.ts";
import { mcpDoor, restDoor, type Door } from "../doors.ts";
import { connectMcp } from "../mcp-client.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";
import { logOf, updatesOf } from "../session-steps.ts";
import {
  assertPushed,
  end,
  lookAtChanges,
  pairHost,
  push,
  restore,
  runInShell,
  startInClone,
  workAndAnswer,
  workAndGoBack,
  workOn,
} from "../story-steps.ts";

useWorld({ agents: AgentKind.options, nats: 1 });

const token = "gho_theStory";
const place = mkdtempSync(join(tmpdir(), "hawser-story-"));
const repositories = [...AgentKind.options, "mcp"].map((name) => `acme/${name}`);
let github: Github;

before(async () => {
  github = await startGithub({ token, repositories: repositories.map((name) => ({ name })) });
});

after(async () => {
  await github?.[Symbol.asyncDispose]();
  removeDirectory(place);
});

async function tell({ world, caller }: Context, name: string, kind: AgentKind, door: Door) {
  const model = world.model!;
  const stage = { name, door, kind, model, github, repository: `acme/${name}` };
  await using host = await pairHost(stage, world.baseUrl, join(place, name), token);
  const story = await startInClone(stage, host);
  const { sessionId } = story.session;
  await using viewer = await readSession(world.baseUrl, caller.key, sessionId);
  await workAndAnswer(story);
  await lookAtChanges(story);
  await runInShell(story);
  await workAndGoBack(story);
  await workOn(story);
  const pushed = await push(story);
  assertPushed(story, pushed);
  await end(story);

  // Seen as it happened, and read afterwards: one and the same, every entry once.
  const log = await logOf(door.call, sessionId);
  assert.equal(updatesOf(log, "turn_finished").length, 3);
  await viewer.until("the last entry", ({ seq }) => seq === log.length);
  assert.deepEqual(
    viewer.entries.map(({ seq, update }) => ({ seq, update })),
    log.map(({ seq, update }) => ({ seq, update })),
  );

  const restored = await restore(story);
  const again = await push(restored);
  assert.deepEqual(again, { ...pushed, sessionId: restored.session.sessionId });
  assertPushed(restored, again);
  await door.call.end_session({ sessionId: restored.session.sessionId });
}

for (const kind of AgentKind.options) {
  scenario(`The story of a session of ${kind}`, ["general.capabilities"], (context) =>
    tell(context, kind, kind, restDoor(context.caller)),
  );
}

scenario("The same story through MCP", [], async (context) => {
  await using client = await connectMcp(context.world.baseUrl, context.caller.key);
  await tell(context, "mcp", "opencode", mcpDoor(client));
});
