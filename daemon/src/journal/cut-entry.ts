// Shortens log entries that are larger than an entry may be. Each long text keeps its head and its tail,
// so that the log stays quick to read. The full update is uploaded to the control plane as a blob, and the
// shortened update names that blob.
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

/** Limit for each text of an update at first; it is lowered until the update fits. */
const longestText = 32 * 1024;
const shortestText = 256;

interface Fitting {
  entry: LogEntry;
  text: string;
  /** The full update; undefined if the entry fits as it is. */
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

/** The blob that an update names; undefined if the update was not shortened. */
export function wholeOf(update: Update): { sha256: string; size: number } | undefined {
  const found = WholeUpdate.safeParse(metaOf(update)[wholeUpdate]).data;
  return found && "sha256" in found ? found : undefined;
}

/** The same update, with the reason why there is no blob instead of the blob's name. */
export function withoutWhole(update: Update, size: number, omitted: string): Update {
  return { ...update, _meta: { ...metaOf(update), [wholeUpdate]: { size, omitted } } };
}

const metaOf = (update: Update) => (update["_meta"] ?? {}) as Record<string, unknown>;

/** Removes a blob's name from an agent's own update: only an update that was shortened here has one. */
function withoutReference(update: Update): Update {
  if (metaOf(update)[wholeUpdate] === undefined) return update;
  const { [wholeUpdate]: _, ...meta } = metaOf(update);
  return { ...update, _meta: meta };
}

/** `room`: how many bytes the update's JSON may have. */
function cut(update: Update, room: number, whole: WholeUpdate): Update {
  const told = (shortened: Update): Update => ({
    ...shortened,
    _meta: { ...metaOf(shortened), [wholeUpdate]: whole },
  });
  for (let longest = longestText; longest >= shortestText; longest /= 2) {
    const fitting = told(shorten(update, longest) as Update);
    if (Buffer.byteLength(JSON.stringify(fitting)) <= room) return fitting;
  }
  // The update has many parts instead of long texts: keep the beginning and the end of its JSON.
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
  // The cut may have split a character.
  return `${text.slice(0, half)}\n… ${left} characters are left out here …\n${text.slice(-half)}`.toWellFormed();
}
