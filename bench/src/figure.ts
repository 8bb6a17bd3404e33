// A figure: what was measured, its goal, and how both are shown.

export interface Figure {
  name: string;
  ours: number;
  bare: number;
  /** Median of the rounds' ratios of ours to bare; not the ratio of the two medians. */
  ratio: number;
  /** The value that is compared with the goal: the ratio, unless the goal says otherwise. */
  held: number;
  goal: number;
  met: boolean;
}

/** One round: both sides measured one right after the other. */
export interface Round {
  ours: number;
  bare: number;
}

export interface Goal {
  name: string;
  /** What `ours` and `bare` count. */
  unit: string;
  goal: number;
  /** Whether the goal must be reached or not be exceeded. */
  direction: "at least" | "at most";
  /** What is held against it, where that is not the ratio; a difference is the median over the rounds. */
  held?: "ours" | "difference";
  /** Explanation for readers of the table. */
  meaning: string;
}

/** Rounds go up and down with whatever else the machine does; their ratios much less. */
export function figureOf({ name, goal, direction, held }: Goal, rounds: Round[]): Figure {
  const ratio = median(rounds.map(({ ours, bare }) => ours / bare));
  const ours = median(rounds.map((round) => round.ours));
  const more = median(rounds.map((round) => round.ours - round.bare));
  const judged = held === "ours" ? ours : held === "difference" ? more : ratio;
  return {
    name,
    ours: rounded(ours),
    bare: rounded(median(rounds.map(({ bare }) => bare))),
    ratio: rounded(ratio),
    held: rounded(judged),
    goal,
    met: direction === "at least" ? judged >= goal : judged <= goal,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Three decimals below a hundred, whole numbers above. */
function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 1000) / 1000;
}

const widths = [24, 14, 14, 8, 14, 0];

/** A line of JSON. A quick figure says so and has no `met`, because it is no measurement. */
export function jsonLine({ met, ...figure }: Figure, quick: boolean): string {
  return JSON.stringify(quick ? { ...figure, quick } : { ...figure, met });
}

export const tableHead = row("figure", "ours", "bare", "ratio", "goal", "");

/** A quick figure shows no verdict, because it is no measurement. */
export function tableRow(figure: Figure, shown: Goal, quick: boolean): string {
  const { name, ours, bare, ratio, goal } = figure;
  const { unit, direction, held, meaning } = shown;
  const difference = held === "difference" ? `${figure.held} ${unit} more: ` : "";
  const verdict = quick ? "not measured" : `${difference}${figure.met ? "met" : "MISSED"}`;
  return `${row(
    name,
    `${ours} ${unit}`,
    `${bare} ${unit}`,
    ratio.toFixed(2),
    `${direction} ${goal}${held ? ` ${unit}` : ""}`,
    verdict,
  )}\n    ${meaning}`;
}

function row(...cells: string[]): string {
  return cells.map((cell, index) => cell.padEnd(widths[index]!)).join(" ");
}
