// Which groups of sessions a person has closed on this device. What is over is closed at first.
import { useState } from "react";
import { groups, type SessionGroup } from "./words.ts";

const storedAs = "hawser.closed-groups";

function stored(): Set<SessionGroup> {
  const kept = localStorage.getItem(storedAs)?.split(" ") ?? ["ended"];
  return new Set(groups.filter((group) => kept.includes(group)));
}

export function useClosedGroups(): [
  closed: ReadonlySet<SessionGroup>,
  toggle: (group: SessionGroup) => void,
] {
  const [closed, setClosed] = useState<ReadonlySet<SessionGroup>>(stored);
  return [
    closed,
    (group) => {
      const next = new Set(closed);
      if (!next.delete(group)) next.add(group);
      localStorage.setItem(storedAs, [...next].join(" "));
      setClosed(next);
    },
  ];
}
