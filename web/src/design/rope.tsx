// The line between Hawser and a machine: dashed and loose while it waits, sagging when paired, taut when online.
import type { ReactNode } from "react";

export type RopeState = "waiting" | "paired" | "online";

const lines: Record<RopeState, string> = {
  waiting: "M40 14C128 52 194 52 260 42",
  paired: "M40 14C172 54 348 54 480 14",
  online: "M40 14C172 20 348 20 480 14",
};

export function Rope({
  state,
  label,
  ends,
}: {
  state: RopeState;
  label: string;
  ends?: [string, string];
}): ReactNode {
  return (
    <svg className={`rope ${state}`} viewBox="0 0 520 56" role="img" aria-label={label}>
      <path className="line" d={lines[state]} />
      <path className="post" d="M40 8v30M480 8v30" />
      {ends?.map((name, index) => (
        <text key={index} x={index === 0 ? 40 : 480} y="54" textAnchor="middle">
          {name.length > 18 ? `${name.slice(0, 17)}…` : name}
        </text>
      ))}
    </svg>
  );
}
