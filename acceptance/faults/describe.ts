// Describes a command's history in a few lines, for finding out what went wrong with it.
import type { Answer, JournalCommand, SentCommand } from "./command-records.ts";

/** Leaves out the facts of the machine, which do not matter here. */
export const ofJournal = (kept: JournalCommand | "" | undefined) =>
  kept
    ? `journal: begun ${iso(kept.begunAt)}, finished ${iso(kept.finishedAt)}, ${outcomeOf(kept)}`
    : "journal: nothing";

const iso = (time: number | null) => (time === null ? "never" : new Date(time).toISOString());

function outcomeOf({ outcome }: JournalCommand): string {
  if (!outcome) return "no outcome";
  return "result" in outcome
    ? `done as run ${String(outcome.result["runs"])}`
    : `refused ${outcome.refusal.code}`;
}

export const brief = ({ answers, ...sent }: SentCommand) => ({ ...sent, answers: runsOf(answers) });

/** The answers in their order; equal ones that follow each other are shown once. */
function runsOf(answers: Answer[]): string[] {
  const runs: { first: Answer; count: number }[] = [];
  for (const answer of answers) {
    const run = runs.at(-1);
    if (run?.first.code === answer.code) run.count += 1;
    else runs.push({ first: answer, count: 1 });
  }
  return runs.map(({ first: { at, node, status, code }, count }) => {
    const again = count > 1 ? ` and ${count - 1} more` : "";
    return `${new Date(at).toISOString()} node ${node}: ${status} ${code}${again}`;
  });
}
