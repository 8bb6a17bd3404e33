// Requests of the real opencode that the policy answers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { openOpencodeBench, type OpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { placeIn, policy } from "@hawser/testkit/conformance/bench.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";
import type { AgentEvent } from "../driver.ts";
import { createApi, type Api } from "./api.ts";
import { createTracker } from "./events.ts";
import type { PermissionRequest, ToolPart } from "./frames.ts";
import { createRequests } from "./requests.ts";
import { createShellGate } from "./shell-gate.ts";

let bench: OpencodeBench;
before(async () => {
  bench = await openOpencodeBench();
});
after(() => bench[Symbol.asyncDispose]());

/** Makes opencode request a command, in a session whose policy allows none. */
async function askTo(command: string) {
  const place = { policy: { ...policy, allowedCommands: [] } };
  const recording = await startSession(bench, place);
  await recording.prompt([{ calls: [bench.command(command)] }, { text: "Done." }]);
  const { key, toolCallId } = await recording.untilType("request");
  const { port, password } = JSON.parse(readFileSync(bench.stateFile, "utf8")) as {
    port: number;
    password: string;
  };
  const api = createApi(port, password);
  const { directory } = recording.place;
  const listed = await api.request("GET", "/permission", { directory });
  const request = (listed as PermissionRequest[]).find(({ id }) => id === key)!;
  return { recording, api, directory, request, toolCallId };
}

/** Receives the request as a second daemon would, whose policy allows the command. */
function receive({ api, directory, request, toolCallId }: Awaited<ReturnType<typeof askTo>>) {
  const reported: AgentEvent[] = [];
  const about = { id: request.sessionID, directory, title: "", cursor: null, openRequests: [] };
  const tracker = createTracker(about, (event) => reported.push(event));
  const part: ToolPart = {
    id: toolCallId!,
    type: "tool",
    tool: "bash",
    sessionID: request.sessionID,
    ...request.tool!,
    state: { status: "running", input: { command: request.metadata["command"] } },
  };
  const wire = counting(api);
  const requests = createRequests({
    api: wire.api,
    gate: createShellGate(join(dirname(bench.stateFile), "opencode-shell")),
    settings: placeIn(directory),
    tracker: { ...tracker, callOf: () => part },
    servers: [],
    catchUp: async () => {},
  });
  return { reported, wire, requests };
}

/** Wraps the API and collects the answers of its requests. */
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

test("a request in both the stream and the list is answered once and never reported", async () => {
  const asked = await askTo("echo twice");
  const { reported, wire, requests } = receive(asked);
  requests.onRequest(asked.request);
  requests.onRequest(asked.request);
  assert.equal((await asked.recording.untilType("turn_ended")).outcome, "completed");
  const answers = await wire.answers();
  assert.deepEqual(
    answers.map(({ status }) => status),
    ["fulfilled"],
  );
  assert.deepEqual(reported, []);
});

test("a request whose answer arrives too late is not reported", async () => {
  const asked = await askTo("echo late");
  await asked.recording.session.answer(asked.request.id, { permission: "once" }, never);
  await asked.recording.untilType("turn_ended");
  const { reported, wire, requests } = receive(asked);
  requests.onRequest(asked.request);
  const answers = await wire.answers();
  assert.deepEqual(
    answers.map(({ status }) => status),
    ["rejected"],
  );
  assert.deepEqual(reported, []);
});
