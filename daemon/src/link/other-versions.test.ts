// A daemon whose control plane has another version: an older one as it was released, and a newer one that
// sends more than this daemon knows.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { HelloReply, Report, ReportReply } from "@hawser/host-protocol";
import { asNewer, olderMessage } from "@hawser/testkit/other-versions.ts";
import {
  startSmallControlPlane,
  type SmallControlPlane,
} from "@hawser/testkit/small-control-plane.ts";
import { until } from "@hawser/testkit/until.ts";
import { startHost } from "../host.ts";
import { createLog } from "../log.ts";
import { openState } from "../state/state.ts";
import { throwIfRefused, waitBefore } from "./up-call.ts";

const entry = { sessionUpdate: "agent_message_chunk", content: "Hello" };

/** A host with one entry to report, and the control plane with the answers that `arrange` sets. */
async function startLinked(t: TestContext, arrange: (control: SmallControlPlane) => void) {
  const control = await startSmallControlPlane();
  const state = openState(join(control.directory, "state"));
  const instanceId = control.pair(state);
  arrange(control);
  await control.startFabric();
  const log: string[] = [];
  const host = startHost({
    state,
    log: createLog((line) => log.push(line)),
    timing: { longestMs: 200, callMs: 1_000, shortestBeatMs: 1 },
    journal: { flush: false },
  });
  t.after(async () => {
    await host.stop();
    await control[Symbol.asyncDispose]();
  });
  host.appendEntry("ses_a", entry);
  await until("the host is online", () => host.status().state === "online");
  return { control, instanceId, host, log };
}

/** Waits until a report, two heartbeats and a renewal were sent, and checks that none was sent in vain. */
async function isServed({ control, instanceId, log }: Awaited<ReturnType<typeof startLinked>>) {
  await until("it beats", () => control.calls("heartbeat").length >= 2);
  const renewed = await control.ask(instanceId, "renew_token", randomUUID(), asNewer({}));
  assert.deepEqual(renewed, { result: {} });
  await until("it says hello with its new token", () => control.calls("hello").length >= 2);
  assert.equal(control.calls("report").length, 1, "its entries are applied");
  assert.deepEqual(
    log.filter((line) => /not accepted|not answered|not applied/.test(line)),
    [],
  );
}

const beatSeconds = 0.05;

test("a newer control plane's replies and commands are understood", async (t) => {
  const linked = await startLinked(t, (control) => {
    control.answers.hello = ({ sessions }) =>
      asNewer<HelloReply>({
        heartbeatSeconds: beatSeconds,
        reconnectJitterSeconds: 0,
        sessions: sessions.map(({ sessionId }) => ({ sessionId, appliedSeq: appliedBy(control) })),
      });
    control.answers.report = (report) => asNewer(applyAll(report));
    control.answers.heartbeat = () => asNewer({ nextSeconds: beatSeconds });
    control.answers.renew = () => asNewer({ token: control.mint(hostKeyOf(control)) });
  });
  await isServed(linked);
});

test("a control plane of 0.1.0 is understood", async (t) => {
  const linked = await startLinked(t, (control) => {
    control.answers.hello = () => ({
      ...(olderMessage("hello-reply.welcome") as HelloReply),
      heartbeatSeconds: beatSeconds,
      sessions: [{ sessionId: "ses_a", appliedSeq: appliedBy(control) }],
    });
    control.answers.report = (report) => ({
      ...(olderMessage("report-reply.applied") as ReportReply),
      ...applyAll(report),
    });
    control.answers.heartbeat = () => ({
      ...olderMessage("heartbeat-reply"),
      nextSeconds: beatSeconds,
    });
  });
  await isServed(linked);
});

/** The host reports its one entry once. */
const appliedBy = (control: SmallControlPlane) => control.calls("report").length;

const hostKeyOf = (control: SmallControlPlane) =>
  control.hostKeyOf(control.calls("hello")[0]!.instanceId);

const applyAll = ({ sessions }: Report) => ({
  applied: sessions.map(({ sessionId, entries }) => ({
    sessionId,
    appliedSeq: entries.at(-1)!.seq,
  })),
});

test("a reason to wait that this daemon does not know is waited for", () => {
  const answer = asNewer({ refused: "later_reason", retryAfterMs: 7_000 });
  const neverRemoved = () => false;
  assert.throws(
    () => throwIfRefused(answer, neverRemoved),
    (error: Error) => {
      assert.match(error.message, /does not accept this now \(later_reason\)/);
      return waitBefore(error, 100) === 7_000;
    },
  );
  for (const other of [
    { refused: "duplicate_host", retryAfterMs: 7_000 },
    { refused: "later_reason" },
    { refused: "later_reason", retryAfterMs: -1 },
    { refused: 7, retryAfterMs: 7_000 },
    { heartbeatSeconds: 30 },
  ]) {
    throwIfRefused(other, neverRemoved);
  }
});
