// A figure of an experiment: the measured value, its goal, and how both are printed.

export interface Figure {
  /** Begins with the name of its experiment: `idle_growth_transactions_per_host_hour`. */
  name: string;
  value: number;
  /** null if the value is only reported. */
  goal: number | null;
  /** null if there is no goal, or if the experiment was too small to judge it. */
  met: boolean | null;
  /** How the value is compared with the goal, for readers of the table. */
  direction?: "at most" | "at least";
}

export function atMost(name: string, value: number, goal: number): Figure {
  return { name, value: rounded(value), goal, met: value <= goal, direction: "at most" };
}

export function atLeast(name: string, value: number, goal: number): Figure {
  return { name, value: rounded(value), goal, met: value >= goal, direction: "at least" };
}

/** A value without a goal. */
export function reported(name: string, value: number): Figure {
  return { name, value: rounded(value), goal: null, met: null };
}

/** Three decimals below a hundred, whole numbers above. */
function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 1000) / 1000;
}

export function jsonLine({ name, value, goal, met }: Figure): string {
  return JSON.stringify({ name, value, goal, met });
}

const widths = [50, 12, 18, 0];

export const tableHead = row("figure", "value", "goal", "");

export function tableRow({ name, value, goal, met, direction = "at most" }: Figure): string {
  const wanted = goal === null ? "" : `${direction} ${goal}`;
  const verdict = met === null ? "" : met ? "met" : "MISSED";
  return row(name, String(value), wanted, verdict);
}

function row(...cells: string[]): string {
  return cells.map((cell, index) => cell.padEnd(widths[index]!)).join(" ");
}
