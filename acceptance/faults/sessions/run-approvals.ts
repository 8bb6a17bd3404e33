// One run of approvals: agents request permission, two callers answer each request at the same moment on two
// nodes, and the daemon is killed meanwhile. Then the history is checked.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom, type Random } from "../../fuzz/random.ts";
import { between } from "../fault.ts";
import type { Violation } from "../violation.ts";
import { makeSessionsBed, type SessionsBed } from "./bed.ts";
import { insist, nameIn, resultOf, sendPrompt, startSession } from "./callers.ts";
import { checkApprovals, type Approval, type GivenAnswer } from "./check-approvals.ts";
import { kill } from "./kills.ts";
import { readJournal } from "./run-sessions.ts";
import { hasSeenEnd, startViewer, type Viewer } from "./viewer.ts";

export interface ApprovalsOptions {
  seed: string;
  sessions: number;
  /** Of all sessions together. */
  requests: number;
  kills: number;
  onNote?: (line: string) => void;
}

export interface ApprovalsResult {
  seed: string;
  kills: string[];
  /** The requests, and the answers that callers received. */
  requests: number;
  told: Record<string, number>;
  /** The time from an answer until the agent received it. */
  acceptedMs: number[];
  seconds: number;
  violations: Violation[];
}

interface Place {
  sessionId: string;
  directory: string;
  viewer: Viewer;
}

interface AskedApproval extends Approval {
  turnId: string;
}

interface RequestRecord {
  requestId: string;
  status: string;
  answerable: boolean;
  permission: unknown;
}

const effectsFile = "accepted.txt";
/** How long a turn may take after its start and after the last kill: a daemon that dies at once ends no turn. */
const longestAskMs = 120_000;

export async function runApprovals(options: ApprovalsOptions): Promise<ApprovalsResult> {
  const started = Date.now();
  const chance = (what: string) => randomFrom(`approvals ${options.seed} ${what}`);
  const note = options.onNote ?? (() => {});
  await using bed = await makeSessionsBed(1, ["opencode"]);
  await using open = new AsyncDisposableStack();
  const broken: string[] = [];
  const { host } = bed.hosts[0]!;
  const places: Place[] = [];
  for (let i = 0; i < options.sessions; i++) {
    // Each session has its own directory, which shows the effects of its agent.
    const directory = join(host.root, `place-${i + 1}`);
    mkdirSync(directory);
    const title = `session ${i + 1}`;
    const about = { agentKind: "opencode" as const, directory, title, useWorktree: false };
    const sessionId = await startSession(bed, host, about);
    const viewer = open.use(startViewer(bed, `viewer ${i + 1}`, sessionId, i));
    places.push({ sessionId, directory, viewer });
  }
  note(`${places.length} sessions started after ${Date.now() - started} ms`);

  const approvals: AskedApproval[] = [];
  const kills: string[] = [];
  const begun = Date.now();
  let killedAt = begun;
  const over = new AbortController();
  const killing = (async () => {
    const random = chance("kills");
    while (!over.signal.aborted && kills.length < options.kills) {
      await sleep(between(random, 500, 4_000));
      const at = Date.now() - begun;
      kills.push(`at ${at} ms: ${await kill("daemon", bed, [], random)}`);
      killedAt = Date.now();
      note(kills.at(-1)!);
    }
  })();
  const perSession = Math.ceil(options.requests / options.sessions);
  await Promise.all(
    places.map(async (place, i) => {
      const random = chance(`session ${i}`);
      for (let turn = 1; turn <= perSession; turn++) {
        const name = `approval-${i + 1}-${turn}`;
        const startedAt = Date.now();
        const isLate = () => Date.now() - Math.max(startedAt, killedAt) > longestAskMs;
        const approval = await answerOne(bed, place, { name, isLate }, random, broken);
        if (approval) approvals.push(approval);
      }
    }),
  );
  over.abort();
  await killing;
  for (const approval of approvals) {
    const place = places.find(({ sessionId }) => sessionId === approval.sessionId)!;
    Object.assign(approval, await lookAt(bed, place, approval));
  }
  await host.kill();
  const own = new Set(places.map(({ sessionId }) => sessionId));
  const journals = readJournal(host.journalFile).filter(({ sessionId }) => own.has(sessionId));
  const answers = approvals.flatMap((approval) => approval.answers);
  const told: Record<string, number> = {};
  for (const { told: what = "nothing" } of answers) told[what] = (told[what] ?? 0) + 1;
  return {
    seed: options.seed,
    kills,
    requests: approvals.length,
    told,
    acceptedMs: answers.filter((each) => each.told === "answered").map(({ tookMs }) => tookMs),
    seconds: Math.round((Date.now() - started) / 100) / 10,
    violations: checkApprovals({ approvals, journals, broken }),
  };
}

/** Runs one turn with one request. undefined if the agent raised none. */
async function answerOne(
  bed: SessionsBed,
  place: Place,
  { name: base, isLate }: { name: string; isLate: () => boolean },
  random: Random,
  broken: string[],
): Promise<AskedApproval | undefined> {
  const { sessionId, viewer } = place;
  let name = base;
  let turnId: string | undefined;
  for (let attempt = 1; !turnId && !isLate(); attempt++) {
    name = `${base}-${attempt}`;
    ({ turnId } = await sendPrompt(bed, sessionId, name, asking(name)));
    if (!turnId) await sleep(300);
  }
  if (!turnId) {
    broken.push(`no prompt of ${sessionId} was accepted in time`);
    return undefined;
  }
  const isEnded = () => hasSeenEnd(viewer, turnId);
  const answers: GivenAnswer[] = [];
  let wasRaised = false;
  while (!isEnded() && !isLate()) {
    const open = (await requestsOf(bed, sessionId, "pending", name)).find(
      (each) => each.answerable,
    );
    if (open) {
      wasRaised = true;
      // Both answer at the same moment; one of them always allows.
      const other = random.oneIn(2) ? "once" : "reject";
      const given = (["once", other] as const).map((answer, node) =>
        give(bed, open.requestId, answer, node),
      );
      answers.push(...(await Promise.all(given)));
    }
    await sleep(50);
  }
  if (!isEnded()) broken.push(`the turn of ${name} in ${sessionId} has not ended`);
  if (!wasRaised) return undefined;
  const unknown = { records: [], effects: 0, continued: 0, isWaiting: false };
  return { name, sessionId, turnId, answers, ...unknown };
}

/** A command that needs permission, and that writes a line each time it runs. */
function asking(name: string): object[] {
  const command = `echo ${name} >> ${effectsFile}`;
  return [
    { calls: [{ tool: "bash", input: { command, description: "leaves a line" } }] },
    { text: "It went on." },
  ];
}

async function give(
  bed: SessionsBed,
  requestId: string,
  answer: GivenAnswer["answer"],
  node: number,
): Promise<GivenAnswer> {
  const input = { requestId, answer };
  const answers = await insist(bed, { action: "answer_permission", input }, node);
  const last = answers.at(-1);
  const told = resultOf(answers)?.status as string | undefined;
  return {
    node: last?.node ?? "none",
    answer,
    told: told ?? (last?.final ? last.code : undefined),
    tookMs: answers.reduce((sum, { tookMs }) => sum + tookMs, 0),
  };
}

async function requestsOf(
  bed: SessionsBed,
  sessionId: string,
  scope: "pending" | "all",
  name: string,
): Promise<RequestRecord[]> {
  const input = { sessionId, scope, limit: 200 };
  const answers = await insist(bed, { action: "list_pending_requests", input });
  const requests: RequestRecord[] = resultOf(answers)?.requests ?? [];
  // The name ends with a space in the command, so that none is the beginning of another.
  return requests.filter(({ permission }) => JSON.stringify(permission).includes(`${name} `));
}

/** The outcome of a request, by its record, by the disk and by the model's requests. */
async function lookAt(
  bed: SessionsBed,
  { sessionId, directory, viewer }: Place,
  { name, turnId }: AskedApproval,
): Promise<Pick<Approval, "records" | "effects" | "continued" | "isWaiting">> {
  const records = await requestsOf(bed, sessionId, "all", name);
  const effects = readEffects(directory).filter((line) => line === name).length;
  const asked = bed.model.requests.filter(({ prompt }) => nameIn(prompt) === name);
  const continued = asked.filter(({ step }) => step === 1).length;
  const isEnded = hasSeenEnd(viewer, turnId);
  return {
    records: records.map(({ requestId, status, answerable }) => ({
      requestId,
      status,
      answerable,
    })),
    effects,
    continued,
    isWaiting: asked.length > 0 && continued === 0 && effects === 0 && !isEnded,
  };
}

function readEffects(directory: string): string[] {
  try {
    return readFileSync(join(directory, effectsFile), "utf8").split("\n");
  } catch {
    return [];
  }
}
