// Runs an action's cases: first those that must be refused, with a fingerprint of the database before and
// after, then the rest. Cases are made when they are sent, so that a run of any length needs little memory.
import { makeCase, type Case } from "./cases.ts";
import type { KnownIds } from "./base-body.ts";
import { connections, type Client, type Outcome } from "./client.ts";
import { expectation, judge } from "./judge.ts";
import type { ActionShape } from "./shape.ts";

export interface Target {
  client: Client;
  known: KnownIds;
  /** The content of every table that a refused call must leave alone, as a digest each. */
  fingerprint(): Promise<ReadonlyMap<string, string>>;
  /** The service's faults since the last call of this function, and whether it still runs. */
  complaints(): Promise<string[]>;
}

export interface Failure {
  action: string;
  seed: string;
  /** undefined if no single case is the cause. */
  index?: number;
  mutation?: string;
  headers?: Record<string, string | undefined>;
  body?: string;
  expected: string;
  got: string;
}

export interface ActionRun {
  action: string;
  cases: number;
  refused: number;
  accepted: number;
  ms: number;
  failures: Failure[];
}

export async function runAction(
  target: Target,
  action: ActionShape,
  { seed, indexes }: { seed: string; indexes: readonly number[] },
): Promise<ActionRun> {
  const started = performance.now();
  const failures: Failure[] = [];
  const make = (index: number) => makeCase(action, seed, index, target.known);
  const toRefuse: number[] = [];
  const others: number[] = [];
  for (const index of indexes) {
    (make(index).label.verdict === "refuse" ? toRefuse : others).push(index);
  }
  let accepted = 0;

  await expectUnchanged(toRefuse);
  await sendAll(others);
  const complaints = await target.complaints();
  failures.push(
    ...complaints.map((got) => ({ action: action.name, seed, expected: "a node in health", got })),
  );
  return {
    action: action.name,
    cases: indexes.length,
    refused: toRefuse.length,
    accepted,
    ms: Math.round(performance.now() - started),
    failures,
  };

  async function sendAll(wanted: readonly number[]): Promise<void> {
    const waiting = wanted.values();
    const worker = async () => {
      for (const index of waiting) {
        const sent = make(index);
        const outcome = await target.client.send(sent);
        if ("reply" in outcome && outcome.reply.status === 200) accepted++;
        const problem = judge(sent, outcome);
        if (problem) failures.push(describe(seed, sent, problem, outcome));
      }
    };
    await Promise.all(Array.from({ length: connections }, worker));
  }

  async function expectUnchanged(wanted: readonly number[]): Promise<void> {
    const changed = await tablesChangedBy(wanted);
    if (changed.length === 0) return;
    const culprit = await findCulprit(wanted);
    const got = `rows changed in ${changed.join(", ")}`;
    failures.push(
      culprit === undefined
        ? { action: action.name, seed, expected: "no row changed by refused cases", got }
        : { ...describe(seed, make(culprit), got), expected: "no row changed" },
    );
  }

  async function tablesChangedBy(wanted: readonly number[]): Promise<string[]> {
    const before = await target.fingerprint();
    await sendAll(wanted);
    const after = await target.fingerprint();
    return [...after].flatMap(([table, digest]) => (before.get(table) === digest ? [] : [table]));
  }

  /** Halves the cases until one is left that changes a row when it is sent again. */
  async function findCulprit(wanted: readonly number[]): Promise<number | undefined> {
    const known = failures.length;
    let suspects = wanted;
    while (suspects.length > 1) {
      const half = suspects.slice(0, suspects.length >> 1);
      const guilty = (await tablesChangedBy(half)).length > 0;
      suspects = guilty ? half : suspects.slice(half.length);
    }
    const found = suspects.length === 1 && (await tablesChangedBy(suspects)).length > 0;
    // What is wrong with the answers was noted the first time.
    failures.length = known;
    return found ? suspects[0] : undefined;
  }
}

function describe(seed: string, sent: Case, problem: string, outcome?: Outcome): Failure {
  const reply = outcome && "reply" in outcome ? `: ${outcome.reply.text.slice(0, 300)}` : "";
  const { contentType, contentEncoding, chunked, unfinished } = sent;
  const transferEncoding = (chunked ?? unfinished) ? "chunked" : undefined;
  return {
    action: sent.action,
    seed,
    index: sent.index,
    mutation: sent.mutation,
    headers: { contentType, contentEncoding, transferEncoding },
    body: cut(sent.body),
    expected: expectation(sent),
    got: problem + reply,
  };
}

function cut(body: Buffer | undefined): string {
  if (!body) return "";
  const text = body.subarray(0, 1200).toString().slice(0, 300);
  return body.length > Buffer.byteLength(text) ? `${text}… (${body.length} bytes)` : text;
}
