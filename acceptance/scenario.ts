// Defines an acceptance test: a sentence of behaviour, the requirements that it proves, and a body that
// calls a world of real processes. Each test file has one world.
//
// Each scenario records what it has proven. Afterwards its replies are searched for what no answer may
// contain, and their form is checked.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { request, requestCounter, type Caller } from "@hawser/testkit/caller.ts";
import { startWorld, type World, type WorldOptions } from "@hawser/testkit/world.ts";
import { checkAnswerForms } from "./answer-form.ts";
import { Leaks } from "./leaks.ts";
import type { RequirementId } from "./requirement-ids.ts";

export interface Context {
  world: World;
  /** Calls with a key of the first organization that has every permission. */
  caller: Caller;
  /** Calls with such a key of the second organization. */
  stranger: Caller;
}

let world: World | undefined;
const leaks = new Leaks();

/** Starts this file's world before its first scenario, and disposes of it after the last. */
export function useWorld(options: WorldOptions = {}): void {
  before(async () => {
    const started = await startWorld(options);
    for (const { keys } of started.organizations) Object.values(keys).forEach((k) => leaks.know(k));
    const makeKey: World["makeKey"] = async (...wanted) => {
      const key = await started.makeKey(...wanted);
      leaks.know(key);
      return key;
    };
    world = { ...started, makeKey };
  });
  after(async () => {
    if (!world) return;
    await using ending = world;
    await searchLogs(ending);
  });
}

export function scenario(
  name: string,
  ids: readonly RequirementId[],
  body: (context: Context) => Promise<void>,
): void {
  test(name, async () => {
    assert.ok(world, "useWorld() comes before the first scenario");
    const seen = { requests: 0, replies: [] };
    const context = {
      world,
      caller: world.caller,
      stranger: world.callerFor(world.organizations[1].keys.owner),
    };
    let passed = false;
    try {
      await requestCounter.run(seen, () => body(context));
      passed = true;
    } finally {
      writeProof({ test: name, ids, requests: seen.requests, passed });
    }
    const found = leaks.search(seen.replies);
    writeProof({
      test: `${name} (its answers searched)`,
      ids: ["general.error.no_internals", "auth.key.secret"],
      requests: seen.requests,
      passed: found.length === 0,
    });
    const { envelopes, ids: idForms, sessionStatuses } = checkAnswerForms(seen.replies);
    const forms = [
      ["general.success.envelope", envelopes],
      ["general.ids.string", idForms],
      ["record.session.status", sessionStatuses],
    ] as const;
    for (const [id, { count, wrong }] of forms) {
      const passed = wrong.length === 0;
      writeProof({ test: `${name} (the form of its answers)`, ids: [id], requests: count, passed });
      found.push(...wrong);
    }
    assert.deepEqual(found, []);
  });
}

/** Calls `ask` until its answer is the wanted one. Fails if the deadline passes. */
export async function until<T>(
  what: string,
  deadlineMs: number,
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    const last = () => JSON.stringify(answer)?.slice(0, 500);
    if (performance.now() > deadline) assert.fail(`${what} within ${deadlineMs} ms: ${last()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Logs and metrics must not contain the callers' secrets either. */
async function searchLogs({ nodes }: World): Promise<void> {
  const texts = nodes.flatMap((node) => node.log.map((line) => JSON.stringify(line)));
  const alive = nodes.filter(
    ({ process }) => process.exitCode === null && process.signalCode === null,
  );
  for (const { metricsUrl } of alive) texts.push((await request(metricsUrl, "/metrics")).text);
  const found = leaks.searchTexts(texts);
  writeProof({
    test: `${basename(process.argv[1] ?? "")}: logs and metrics searched`,
    ids: ["auth.key.secret"],
    requests: nodes.length,
    passed: found.length === 0,
  });
  assert.deepEqual(found, []);
}

function writeProof(proof: {
  test: string;
  ids: readonly RequirementId[];
  requests: number;
  passed: boolean;
}): void {
  const directory = process.env["HAWSER_PROOFS"];
  if (!directory) return;
  appendFileSync(join(directory, `${process.pid}.jsonl`), `${JSON.stringify(proof)}\n`);
}
