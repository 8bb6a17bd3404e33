// Measures two sides in turns. The machine has other load too, and one long run of each side would
// compare two moments instead of two programs.
import { processorSeconds } from "@hawser/testkit/processor-time.ts";
import { median, type Round } from "./figure.ts";
import { say } from "./stage.ts";
import type { LoadGenerator } from "./workers.ts";
import type { LoadJob } from "./load.ts";

export interface Side {
  job: Omit<LoadJob, "seconds" | "requests">;
  /** The serving process, for its processor time per request. */
  pid: number;
}

export interface Pace {
  rounds: number;
  seconds: number;
  /** Sequential calls of a round that measures latency. */
  calls: number;
}

/** Many short rounds: other load on the machine comes in bursts, which then affect whole rounds. */
export function paceOf(quick: boolean): Pace {
  return quick ? { rounds: 1, seconds: 0.5, calls: 50 } : { rounds: 15, seconds: 1.5, calls: 500 };
}

/** Requests per second of both sides, by round, after some uncounted rounds. */
export async function throughputRounds(
  load: LoadGenerator,
  { rounds, seconds }: Pace,
  ours: Side,
  bare: Side,
): Promise<Round[]> {
  const once = async ({ job, pid }: Side) => {
    const before = processorSeconds(pid);
    const { requests, perSecond } = await load.run({ ...job, seconds });
    return { perSecond, cost: ((processorSeconds(pid) - before) * 1000) / requests };
  };
  const costs: Round[] = [];
  const measured = await inTurns(
    rounds,
    () => once(ours),
    () => once(bare),
    (a, b) => {
      costs.push({ ours: a.cost, bare: b.cost });
      return {
        round: { ours: a.perSecond, bare: b.perSecond },
        text: `${a.perSecond.toFixed(0)}/s beside ${b.perSecond.toFixed(0)}/s`,
      };
    },
  );
  // Other load on the machine hardly affects this, so it helps to judge a noisy ratio.
  const [oursMs, bareMs] = [median(costs.map((c) => c.ours)), median(costs.map((c) => c.bare))];
  say(
    `  processor time of the server per call: ${oursMs.toFixed(3)} ms beside ${bareMs.toFixed(3)} ms: ` +
      (bareMs / oursMs).toFixed(3),
  );
  return measured;
}

/** Median latency of sequential calls, in milliseconds, by round. */
export async function latencyRounds(
  load: LoadGenerator,
  { rounds, calls }: Pace,
  ours: Side,
  bare: Side,
): Promise<Round[]> {
  const once = async ({ job }: Side) =>
    (await load.run({ ...job, connections: 1, requests: calls })).p50Ms;
  return inTurns(
    rounds,
    () => once(ours),
    () => once(bare),
    (a, b) => millisecondsRound(a, b),
  );
}

/** A round of two times in milliseconds. */
export function millisecondsRound(ours: number, bare: number): { round: Round; text: string } {
  return {
    round: { ours, bare },
    text: `${ours.toFixed(3)} ms beside ${bare.toFixed(3)} ms`,
  };
}

/** Measures two sides alternately. Unless only one round is asked for, some uncounted rounds precede. */
export async function inTurns<Ours, Bare>(
  rounds: number,
  measureOurs: () => Promise<Ours>,
  measureBare: () => Promise<Bare>,
  judge: (ours: Ours, bare: Bare) => { round: Round; text: string },
  warmUps = rounds === 1 ? 0 : 2,
): Promise<Round[]> {
  // Not counted: a process is several times slower until its code is compiled.
  for (let i = 0; i < warmUps; i++) {
    await measureOurs();
    await measureBare();
  }
  const measured: Round[] = [];
  for (let number = 1; number <= rounds; number++) {
    const { round, text } = judge(await measureOurs(), await measureBare());
    measured.push(round);
    say(`  round ${number}: ${text}: ${(round.ours / round.bare).toFixed(3)}`);
  }
  return measured;
}
