// `npm run faults -- up`: kills `hawser up`, or one of its parts, at random moments of a first start and while
// it runs. Every next start must work, with the same key, the same host, and every row and log entry that
// was there before.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Caller } from "@hawser/testkit/caller.ts";
import { killProcess } from "@hawser/testkit/processes.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  makeUpBed,
  partPids,
  type ReadyLine,
  type StartedUp,
  type UpBed,
} from "@hawser/testkit/up-bed.ts";
import { randomFrom } from "../fuzz/random.ts";
import { scripted } from "../session-steps.ts";
import { same, violation, type Violation } from "./violation.ts";

export interface UpFaultOptions {
  seed: string;
  /** Half of them during a first start, half while it runs. */
  kills: number;
  onNote?: (line: string) => void;
}

export interface UpFaultResult {
  seed: string;
  kills: number;
  /** How many of the next starts got ready. */
  starts: number;
  /** Milliseconds until the next start, or the same one without the killed part, was ready. */
  readyMs: { median: number; most: number };
  injections: string[];
  seconds: number;
  violations: Violation[];
}

const victims = ["up", "postgres", "up", "nats-server", "everything", "node", "host"] as const;
type Victim = (typeof victims)[number];
const startPatienceMs = 120_000;

interface Run {
  bed: UpBed;
  random: ReturnType<typeof randomFrom>;
  note: (line: string) => void;
  injections: string[];
  readyMs: number[];
  violations: Violation[];
}

export async function runUpFaults(options: UpFaultOptions): Promise<UpFaultResult> {
  const began = performance.now();
  const { seed, kills } = options;
  await using bed = await makeUpBed({ agents: true });
  const run: Run = {
    bed,
    random: randomFrom(seed),
    note: options.onNote ?? (() => {}),
    injections: [],
    readyMs: [],
    violations: [],
  };
  const first = bed.start();
  const line = await first.ready;
  const coldMs = performance.now() - first.startedAt;
  run.note(`the first start took ${Math.round(coldMs)} ms`);
  await killRunning(run, first, line, Math.ceil(kills / 2));
  for (let round = 0; round < Math.floor(kills / 2); round++)
    await killFirstStart(run, round, coldMs);
  const sorted = run.readyMs.toSorted((one, two) => one - two);
  return {
    seed,
    kills,
    starts: sorted.length,
    readyMs: { median: sorted[Math.floor(sorted.length / 2)] ?? 0, most: sorted.at(-1) ?? 0 },
    injections: run.injections,
    seconds: Math.round((performance.now() - began) / 1000),
    violations: run.violations,
  };
}

/** Kills while a session works, and reads everything back. */
async function killRunning(
  run: Run,
  started: StartedUp,
  line: ReadyLine,
  rounds: number,
): Promise<void> {
  const { bed, random } = run;
  const caller = bed.callerFor(line);
  const { instanceId } = line;
  const { sessionId } = await patiently(() =>
    caller.start_session(
      { instanceId, directory: bed.repository },
      { idempotencyKey: "the-session" },
    ),
  );
  const names: string[] = [];
  let up = started;
  for (let round = 0; round < rounds; round++) {
    const victim = victims[round % victims.length]!;
    const name = `round ${round}`;
    await patiently(() => caller.create_instance({ name }));
    names.push(name);
    const text = scripted(name, { text: `Answer ${round}.`, paceMs: 200 });
    const { turnId } = await patiently(() => caller.send_prompt({ sessionId, text }));
    const afterMs = random.below(1_500);
    await pause(afterMs);
    const known = await patiently(() => readEvents(caller, sessionId));
    kill(run, up, victim, `running, ${afterMs} ms after a prompt`);
    up = await untilReady(run, up, victim, bed.data, line);
    await until("the host is online", () => isOnline(caller, instanceId), 60_000);
    await until("the turn has ended", () => hasEnded(caller, sessionId, turnId), 60_000);
    const events = await patiently(() => readEvents(caller, sessionId));
    if (!same(events.slice(0, known.length), known)) {
      run.violations.push(violation("no log entry is lost or changed", known, events));
    }
    if (events.some(({ seq }, at) => seq !== at + 1)) {
      run.violations.push(violation("a log has no gap and no repeat", events));
    }
    const { instances } = await patiently(() => caller.list_instances({}));
    const lost = names.filter((each) => instances.every((instance) => instance.name !== each));
    if (lost.length > 0) run.violations.push(violation("no row is lost", lost));
  }
  up.process.kill("SIGTERM");
  await up.ended;
}

/** Kills during a first start in an empty data directory. */
async function killFirstStart(run: Run, round: number, coldMs: number): Promise<void> {
  const { bed, random } = run;
  const data = join(bed.user.home, `first-${round}`);
  const victim = victims[(round * 2) % victims.length]!;
  const isPart = victim !== "up" && victim !== "everything";
  const afterMs = isPart ? random.below(500) : Math.round((coldMs * random.below(101)) / 100);
  const started = bed.start(["--data", data]);
  if (isPart) await until(`${victim} runs`, () => hasPart(data, victim), startPatienceMs);
  await pause(afterMs);
  const known = readKey(data);
  kill(
    run,
    started,
    victim,
    `first start, ${afterMs} ms after ${isPart ? "its start" : "the command"}`,
    data,
  );
  const up = await untilReady(run, started, victim, data);
  const line = await up.ready.catch(() => undefined);
  if (line) {
    if (known !== undefined && line.key !== known) {
      run.violations.push(
        violation("a key that was made stays", `${data}: the key is another one`),
      );
    }
    const { instances } = await bed.callerFor(line).list_instances({});
    if (instances.length !== 1 || instances[0]!.instanceId !== line.instanceId) {
      run.violations.push(violation("a repeated first start registers one host", instances));
    }
    up.process.kill("SIGTERM");
    if ((await up.ended) !== 0) run.violations.push(violation("it stops in order", up.said()));
  }
  rmSync(data, { recursive: true, force: true });
}

function kill(
  { bed, note, injections }: Run,
  up: StartedUp,
  victim: Victim,
  when: string,
  data = bed.data,
): void {
  const line = `${victim} killed: ${when}`;
  injections.push(line);
  note(line);
  const parts = existsSync(join(data, "status.json")) ? partPids({ data }) : {};
  if (victim === "up" || victim === "everything") up.process.kill("SIGKILL");
  if (victim === "everything") {
    for (const { pid, environment } of bed.processes()) {
      if (!environment.some((each) => each.startsWith("HAWSER_AGENT="))) killProcess(pid);
    }
  }
  const pid = (parts as Record<string, number | undefined>)[victim];
  // A part of an earlier start has ended, and its number may be another's.
  if (pid && bed.processes().some((each) => each.pid === pid)) killProcess(pid);
}

/** Waits until everything works again; starts it again if it was killed whole. */
async function untilReady(
  run: Run,
  up: StartedUp,
  victim: Victim,
  data: string,
  line?: ReadyLine,
): Promise<StartedUp> {
  const { bed, random, readyMs, violations, note } = run;
  const isWhole = victim === "up" || victim === "everything";
  if (isWhole) {
    await up.ended;
    await pause(random.below(300));
  }
  const next = isWhole ? bed.start(["--data", data]) : up;
  const startedAt = performance.now();
  const late = pause(startPatienceMs, "late" as const, { ref: false });
  const ready = await Promise.race([next.ready, late]).catch((error: Error) => error.message);
  if (typeof ready === "string") {
    violations.push(violation("the next start works", victim, ready, next.said()));
    note(`the next start failed: ${ready}`);
  } else {
    if (line && !same(ready, line)) violations.push(violation("key and host stay", line, ready));
    if (!isWhole && line) {
      await until(
        `${victim} runs again`,
        async () => (await bed.status()).parts.every(({ running }) => running),
        30_000,
      );
    }
    const tookMs = Math.round(performance.now() - startedAt);
    readyMs.push(tookMs);
    note(`ready after ${tookMs} ms`);
  }
  return next;
}

/** Repeats a call that is refused while parts are started again. */
async function patiently<Result>(call: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(100);
    }
  }
}

function hasPart(data: string, name: string): boolean {
  return existsSync(join(data, "status.json")) && (partPids({ data })[name] ?? 0) > 0;
}

function readKey(data: string): string | undefined {
  const file = join(data, "bootstrap-key");
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}

async function readEvents(caller: Caller, sessionId: string) {
  return (await caller.list_session_events({ sessionId, limit: 500 })).events;
}

async function isOnline(caller: Caller, instanceId: string): Promise<boolean> {
  const { status, text } = await caller.try("get_instance", { instanceId });
  return status === 200 && text.includes('"status":"online"');
}

async function hasEnded(caller: Caller, sessionId: string, turnId: string): Promise<boolean> {
  const events = await patiently(() => readEvents(caller, sessionId));
  return events.some(
    (event) => event.turnId === turnId && event.update.sessionUpdate === "turn_finished",
  );
}
