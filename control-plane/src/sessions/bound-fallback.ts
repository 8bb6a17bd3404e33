// A host's report of a fallback, with limits: a hostile host could report texts of any length.
import type { Fallback } from "@hawser/contract";
import { shortened } from "../postgres/shortened.ts";

const mostListed = 20;
const longestWord = 200;
const longestSentence = 1_000;

export const boundFallback = ({ preferredKind, skipped, droppedOptions }: Fallback): Fallback => ({
  preferredKind,
  skipped: skipped.slice(0, mostListed).map(({ kind, reason, message, utilization }) => ({
    kind,
    reason: storable(reason, longestWord),
    message: storable(message, longestSentence),
    utilization,
  })),
  droppedOptions: droppedOptions.slice(0, mostListed).map((name) => storable(name, longestWord)),
});

/** PostgreSQL stores neither a zero byte nor half of a character. */
const storable = (text: string, longest: number) =>
  shortened(text.toWellFormed().replaceAll("\0", "\u{FFFD}"), longest);
