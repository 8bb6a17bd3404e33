// An entry of the log has a largest size. What an agent says beyond it is cut to its head and tail, so
// that the log stays quick to read; the whole goes to the control plane as a blob, and the update says
// which.
import { createHash } from "node:crypto";
import {
  WholeUpdate,
  largestBlob,
  largestEntry,
  wholeUpdate,
  type LogEntry,
} from "@hawser/host-protocol";

type Update = LogEntry["update"];

export interface Whole {
  sha256: string;
  bytes: Buffer;
}

/** What every text in an update is first cut to; then to less, until the update fits. */
const longestText = 32 * 1024;
const shortestText = 256;

interface Fitting {
  entry: LogEntry;
  text: string;
  /** What the entry names, when it had to be cut. */
  whole?: Whole;
}

export function fitEntry(given: LogEntry): Fitting {
  const entry = { ...given, update: withoutReference(given.update) };
  const text = JSON.stringify(entry);
  const tooMany = Buffer.byteLength(text) - largestEntry;
  if (tooMany <= 0) return { entry, text };
  const bytes = Buffer.from(JSON.stringify(entry.update));
  const size = bytes.length;
  const cutWith = (whole: WholeUpdate): Fitting => {
    const fitting = { ...entry, update: cut(entry.update, size - tooMany, whole) };
    return { entry: fitting, text: JSON.stringify(fitting) };
  };
  if (size > largestBlob) return cutWith({ size, omitted: "payload_too_large" });
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { ...cutWith({ size, sha256 }), whole: { sha256, bytes } };
}

/** The blob that an update names, if it was cut. */
export function wholeOf(update: Update): { sha256: string; size: number } | undefined {
  const found = WholeUpdate.safeParse(metaOf(update)[wholeUpdate]).data;
  return found && "sha256" in found ? found : undefined;
}

/** The same update, saying that there is no blob, and why. */
export function withoutWhole(update: Update, size: number, omitted: string): Update {
  return { ...update, _meta: { ...metaOf(update), [wholeUpdate]: { size, omitted } } };
}

const metaOf = (update: Update) => (update["_meta"] ?? {}) as Record<string, unknown>;

/** Only what was cut here names a blob; an agent's own words do not. */
function withoutReference(update: Update): Update {
  if (metaOf(update)[wholeUpdate] === undefined) return update;
  const { [wholeUpdate]: _, ...meta } = metaOf(update);
  return { ...update, _meta: meta };
}

/** `room` is for the update's JSON, in bytes. */
function cut(update: Update, room: number, whole: WholeUpdate): Update {
  const told = (shortened: Update): Update => ({
    ...shortened,
    _meta: { ...metaOf(shortened), [wholeUpdate]: whole },
  });
  for (let longest = longestText; longest >= shortestText; longest /= 2) {
    const fitting = told(shorten(update, longest) as Update);
    if (Buffer.byteLength(JSON.stringify(fitting)) <= room) return fitting;
  }
  // Not long texts but many parts: what is shown is the beginning and the end of its JSON.
  const raw = headAndTail(JSON.stringify(update), longestText / 2);
  return told({ sessionUpdate: "unknown", raw });
}

function shorten(value: unknown, longest: number): unknown {
  if (typeof value === "string") return headAndTail(value, longest);
  if (Array.isArray(value)) return value.map((each) => shorten(each, longest));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, shorten(each, longest)]),
  );
}

function headAndTail(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const half = longest / 2;
  const left = text.length - longest;
  // A character may have been cut in two.
  return `${text.slice(0, half)}\n… ${left} characters are left out here …\n${text.slice(-half)}`.toWellFormed();
}
