// Sub-agents: which lanes stand on their own and which fold into one line.
import { words } from "../../words/words.ts";
import type { Call, LaneRow, LanesRow } from "./row.ts";

/** More lanes in a row than this would bury the answer, so finished ones fold while others still run. */
const mostLanes = 8;

export interface Lane {
  row: LaneRow;
  /** Whether the turn that began it is over. */
  isPast: boolean;
}

/** A lane as a person sees it: it still works if one of its calls runs, also after its own call was reported done. */
export function laneState(call: Call, calls: readonly Call[]): Call["state"] {
  if (call.state === "failed") return "failed";
  return calls.some(({ state }) => state === "running") ? "running" : call.state;
}

/** The rows of lanes that stand together. */
export function laneRows(lanes: readonly Lane[]): (LaneRow | LanesRow)[] {
  const isTooMany = lanes.length > mostLanes;
  const isFolded = ({ row, isPast }: Lane) => row.state === "completed" && (isPast || isTooMany);
  const folded = lanes.filter(isFolded).map(({ row }) => row);
  const rest = lanes.filter((lane) => !isFolded(lane)).map(({ row }) => row);
  const [first] = folded;
  if (!first) return rest;
  const together: LanesRow = {
    is: "lanes",
    key: `lanes:${first.seq}`,
    seq: first.seq,
    lanes: folded,
  };
  return [together, ...rest];
}

/** The line of folded lanes: "3 sub-agents, 41 calls". */
export function lanesWords(lanes: readonly LaneRow[]): string {
  const calls = lanes.reduce((sum, { callCount }) => sum + callCount, 0);
  return words("lanes.finished", { agents: lanes.length, calls });
}
