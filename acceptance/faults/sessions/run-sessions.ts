// One run of sessions: their turns run while the parts around them are killed or cut. Then some turns end
// without a notice, and the agents are killed for the last time. Then the history is checked.
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentKind } from "@hawser/contract";
import { randomFrom } from "../../fuzz/random.ts";
import { between } from "../fault.ts";
import { readLogs } from "../gather.ts";
import type { Violation } from "../violation.ts";
import { makeSessionsBed, type SessionsBed } from "./bed.ts";
import { nameIn, sendPrompt, startSession } from "./callers.ts";
import { checkSessions } from "./check-sessions.ts";
import { endSessions, killWhileWorking, lookAtSessions, type RunSession } from "./ending.ts";
import { endOfPrompt, type SentPrompt, type SessionsHistory } from "./history.ts";
import { everyKind, kill } from "./kills.ts";
import { randomSteps, shortTurn } from "./turns.ts";
import { hasSeenEnd, startViewer, type Viewer } from "./viewer.ts";

export interface SessionsOptions {
  seed: string;
  hosts: number;
  /** The kinds of agents over which the sessions are spread. */
  kinds: readonly AgentKind[];
  sessions: number;
  /** Of all sessions together. */
  turns: number;
  kills: number;
  /** How many turns end without a notice. */
  unnoticed: number;
  onNote?: (line: string) => void;
}

export interface SessionsResult {
  seed: string;
  kinds: readonly AgentKind[];
  kills: string[];
  prompts: Record<"accepted" | "refused" | "unknown", number>;
  outcomes: Record<string, number>;
  entries: number;
  /** The time from the end of a turn without a notice until its last viewer received it. */
  unnoticedMs: number[];
  seconds: number;
  violations: Violation[];
}

interface Followed extends RunSession {
  viewers: Viewer[];
}

/** How long after the last kill a prompt may take to be accepted, and a turn to end. */
const longestTurnMs = 120_000;
const longestSeenMs = 15_000;
const longestSettlingMs = 60_000;
/** Longer than a viewer may lag behind. */
const quietMs = 7_000;

export async function runSessions(options: SessionsOptions): Promise<SessionsResult> {
  const started = Date.now();
  const chance = (what: string) => randomFrom(`sessions ${options.seed} ${what}`);
  const note = options.onNote ?? (() => {});
  await using bed = await makeSessionsBed(options.hosts, options.kinds);
  await using open = new AsyncDisposableStack();
  const broken: string[] = [];
  const prompts: SentPrompt[] = [];
  const sessions: Followed[] = [];
  for (let i = 0; i < options.sessions; i++) {
    const { host } = bed.hosts[i % bed.hosts.length]!;
    // Every host gets sessions of every kind.
    const agentKind = options.kinds[Math.floor(i / bed.hosts.length) % options.kinds.length]!;
    const about = { agentKind, directory: host.repository, title: `session ${i + 1}` };
    const sessionId = await startSession(bed, host, about);
    const viewers = [1, 2].map((n) =>
      open.use(startViewer(bed, `viewer ${i + 1}.${n}`, sessionId, n)),
    );
    sessions.push({ sessionId, agentKind, host, viewers });
  }
  note(`${sessions.length} sessions started after ${Date.now() - started} ms`);

  const kills: string[] = [];
  const begun = Date.now();
  const killing = (async () => {
    const random = chance("kills");
    const everyViewer = sessions.flatMap(({ viewers }) => viewers);
    while (kills.length < options.kills) {
      await sleep(between(random, 100, 1_500));
      const kind = random.pick(everyKind);
      const at = Date.now() - begun;
      kills.push(`at ${at} ms: ${await kill(kind, bed, everyViewer, random)}`);
      note(kills.at(-1)!);
    }
  })();
  const perSession = Math.ceil(options.turns / options.sessions);
  const working = sessions.map(async (session, i) => {
    const random = chance(`session ${i}`);
    for (let turn = 0; turn < perSession; turn++) {
      // Prompts are spread over the whole time of the kills, whatever the machine's speed.
      while (kills.length < (options.kills * turn) / perSession) await sleep(50);
      const steps = randomSteps(session.agentKind, random);
      const turnId = await untilAccepted(
        bed,
        session,
        `prompt-${i + 1}-${turn + 1}`,
        steps,
        prompts,
      );
      if (!turnId) broken.push(`no prompt of ${session.sessionId} was accepted in time`);
      // One prompt in three is followed at once by another, which is queued.
      else if (!random.oneIn(3))
        await untilSeen(session.viewers.slice(0, 1), turnId, longestTurnMs);
    }
  });
  await Promise.all([killing, ...working]);
  for (const { sessionId, turnId } of acceptedTurns(prompts)) {
    const { viewers } = sessions.find((session) => session.sessionId === sessionId)!;
    if (!(await untilSeen(viewers, turnId, longestTurnMs))) {
      broken.push(`viewers of ${sessionId} have not seen the end of ${turnId}`);
    }
  }
  note(`all turns have ended after ${Date.now() - begun} ms`);

  const unnoticed = await endUnnoticed(bed, sessions, options.unnoticed, prompts, broken);
  prompts.push(...(await killWhileWorking(bed, sessions, broken)));
  const final = await lookAtSessions(bed, sessions);
  const processes = await endSessions(bed, sessions, broken);
  await untilSettled(sessions);
  for (const { host } of bed.hosts) await host.kill();
  const viewers = sessions.flatMap((session) => session.viewers);
  for (const { log, refusals } of viewers) {
    for (const [answer, count] of refusals) {
      // A node that cannot serve now answers so; any other answer is a violation.
      if (!answer.startsWith("5")) broken.push(`${log.viewer} received ${count} times: ${answer}`);
    }
  }
  const own = new Set(sessions.map(({ sessionId }) => sessionId));
  const history: SessionsHistory = {
    prompts,
    starts: countStarts(bed),
    viewers: viewers.map(({ log }) => log),
    journals: bed.hosts
      .flatMap(({ host }) => readJournal(host.journalFile))
      .filter(({ sessionId }) => own.has(sessionId)),
    sessions: final,
    processes,
    unnoticed,
    broken,
  };
  return {
    seed: options.seed,
    kinds: options.kinds,
    kills,
    ...countOf(history),
    unnoticedMs: unnoticedTimes(history),
    seconds: Math.round((Date.now() - started) / 100) / 10,
    violations: checkSessions(history),
  };
}

/** Sends the prompt again under a new name while it is refused. */
async function untilAccepted(
  bed: SessionsBed,
  { sessionId }: RunSession,
  name: string,
  steps: object[],
  prompts: SentPrompt[],
): Promise<string | undefined> {
  const deadline = Date.now() + longestTurnMs;
  for (let attempt = 1; Date.now() < deadline; attempt++) {
    const { turnId, ...sent } = await sendPrompt(bed, sessionId, `${name}-${attempt}`, steps);
    prompts.push(sent);
    if (turnId) return turnId;
    await sleep(500);
  }
  return undefined;
}

async function untilSeen(viewers: Viewer[], turnId: string, patienceMs: number): Promise<boolean> {
  const deadline = Date.now() + patienceMs;
  while (!viewers.every((viewer) => hasSeenEnd(viewer, turnId))) {
    if (Date.now() > deadline) return false;
    await sleep(50);
  }
  return true;
}

/** Runs turns whose last entry is not announced to any node. */
async function endUnnoticed(
  bed: SessionsBed,
  sessions: readonly Followed[],
  count: number,
  prompts: SentPrompt[],
  broken: string[],
): Promise<SessionsHistory["unnoticed"]> {
  const unnoticed: SessionsHistory["unnoticed"] = [];
  bed.notices.lose(/^session\..+\.applied$/);
  const rounds = Math.ceil(count / sessions.length);
  await Promise.all(
    sessions.slice(0, count).map(async (session, i) => {
      for (let round = 1; round <= rounds; round++) {
        const name = `unnoticed-${i + 1}-${round}`;
        const turnId = await untilAccepted(bed, session, name, shortTurn, prompts);
        if (!turnId) continue;
        unnoticed.push({ sessionId: session.sessionId, turnId });
        await untilSeen(session.viewers, turnId, longestTurnMs + longestSeenMs);
      }
    }),
  );
  bed.notices.lose();
  if (count > 0 && bed.notices.lost() === 0) broken.push("there was no notice to lose");
  return unnoticed;
}

/** Waits until no viewer receives anything new. */
async function untilSettled(sessions: readonly Followed[]): Promise<void> {
  const deadline = Date.now() + longestSettlingMs;
  let before = "";
  let since = Date.now();
  while (Date.now() < deadline && Date.now() - since < quietMs) {
    const now = sessions.map(({ viewers }) => viewers.map((viewer) => viewer.lastSeq())).join();
    if (now !== before) since = Date.now();
    before = now;
    await sleep(100);
  }
}

export function readJournal(file: string) {
  const journal = new DatabaseSync(file);
  try {
    return readLogs(journal);
  } finally {
    journal.close();
  }
}

/** How often the model was asked to begin each prompt. */
function countStarts(bed: SessionsBed): Map<string, number> {
  const starts = new Map<string, number>();
  for (const { kind, step, prompt } of bed.model.requests) {
    const name = nameIn(prompt);
    if (kind === "scripted" && step === 0 && name) starts.set(name, (starts.get(name) ?? 0) + 1);
  }
  return starts;
}

function acceptedTurns(prompts: readonly SentPrompt[]) {
  return prompts.flatMap(({ sessionId, answers }) => {
    const last = answers.at(-1);
    if (last?.status !== 200) return [];
    const { result } = JSON.parse(last.body) as { result: { turnId: string } };
    return [{ sessionId, turnId: result.turnId }];
  });
}

function countOf({ prompts, journals }: SessionsHistory) {
  const ends = { accepted: 0, refused: 0, unknown: 0 };
  for (const prompt of prompts) ends[endOfPrompt(prompt)] += 1;
  const outcomes: Record<string, number> = {};
  for (const { update } of journals.flatMap(({ entries }) => entries)) {
    if (update["sessionUpdate"] !== "turn_finished") continue;
    const outcome = String(update["outcome"]);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  const entries = journals.reduce((sum, log) => sum + log.entries.length, 0);
  return { prompts: ends, outcomes, entries };
}

function unnoticedTimes({ unnoticed, viewers, journals }: SessionsHistory): number[] {
  return unnoticed.map(({ sessionId, turnId }) => {
    const end = journals
      .find((log) => log.sessionId === sessionId)
      ?.entries.find(
        ({ turnId: of, update }) => of === turnId && update["sessionUpdate"] === "turn_finished",
      );
    const times = viewers
      .filter((log) => log.sessionId === sessionId)
      .map(({ seen }) => seen.find(({ seq }) => seq === end?.seq)?.seenAt ?? Infinity);
    return Math.max(...times) - Date.parse(end?.at ?? "");
  });
}
