// What the policy answers by itself, at the real opencode.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { openOpencodeBench, type OpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { policy } from "@hawser/testkit/conformance/bench.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";
import type { AgentEvent } from "../driver.ts";
import { openApi, type Api } from "./api.ts";
import { openTracker } from "./events.ts";
import type { PermissionRequest } from "./frames.ts";
import { openRequests } from "./requests.ts";

let bench: OpencodeBench;
before(async () => {
  bench = await openOpencodeBench();
});
after(() => bench[Symbol.asyncDispose]());

/** A command that opencode waits with, in a session whose own policy decides nothing. */
async function askTo(command: string) {
  const place = { policy: { ...policy, allowedCommands: [] } };
  const recording = await startSession(bench, place);
  await recording.prompt([{ calls: [bench.command(command)] }, { text: "Done." }]);
  const { key } = await recording.untilType("request");
  const { port, password } = JSON.parse(readFileSync(bench.stateFile, "utf8")) as {
    port: number;
    password: string;
  };
  const api = openApi(port, password);
  const { directory } = recording.place;
  const listed = await api.request("GET", "/permission", { directory });
  const request = (listed as PermissionRequest[]).find(({ id }) => id === key)!;
  return { recording, api, directory, request };
}

/** Counts the answers that it carries. */
function counting(api: Api): { api: Api; answers: () => Promise<PromiseSettledResult<unknown>[]> } {
  const sent: Promise<unknown>[] = [];
  return {
    api: {
      ...api,
      request(...args) {
        const answer = api.request(...args);
        sent.push(answer);
        return answer;
      },
    },
    answers: () => Promise.allSettled(sent),
  };
}

test("a request that comes by the stream and in the list is answered once, and never shown", async () => {
  const { recording, api, directory, request } = await askTo("echo twice");
  const told: AgentEvent[] = [];
  const about = { id: request.sessionID, directory, title: "", cursor: null, openRequests: [] };
  const tracker = openTracker(about, (event) => told.push(event));
  const wire = counting(api);
  const requests = openRequests(wire.api, { directory, policy }, tracker);
  requests.take(request);
  requests.take(request);
  assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
  const answers = await wire.answers();
  assert.deepEqual(
    answers.map(({ status }) => status),
    ["fulfilled"],
  );
  assert.deepEqual(told, []);
});

test("an answer that comes too late shows nothing", async () => {
  const { recording, api, directory, request } = await askTo("echo late");
  await recording.session.answer(request.id, { permission: "once" }, never);
  await recording.untilType("turn_ended");
  const told: AgentEvent[] = [];
  const about = { id: request.sessionID, directory, title: "", cursor: null, openRequests: [] };
  const tracker = openTracker(about, (event) => told.push(event));
  const wire = counting(api);
  openRequests(wire.api, { directory, policy }, tracker).take(request);
  const answers = await wire.answers();
  assert.deepEqual(
    answers.map(({ status }) => status),
    ["rejected"],
  );
  assert.deepEqual(told, []);
});
