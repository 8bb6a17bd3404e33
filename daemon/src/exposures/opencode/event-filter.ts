// Filters opencode's event streams: an exposure gets the events of its own sessions, and those that keep the
// connection alive. The streams carry the events of all sessions and directories of the host.
import { isObject } from "../../drivers/is-object.ts";

/** The sessions that an event is about. */
interface EventSubject {
  sessions: readonly string[];
  /** A sub-agent's session has begun. */
  child?: { id: string; parentID: string };
}

/** `always`: about the connection. `never`: about the host, or about something unknown. */
function subjectOf(frame: unknown): EventSubject | "always" | "never" {
  if (!isObject(frame)) return "never";
  // /global/event wraps what /event sends.
  const event = isObject(frame["payload"]) ? frame["payload"] : frame;
  const { type } = event;
  if (type === "server.connected" || type === "server.heartbeat") return "always";
  if (type === "sync") return subjectOfSync(event["syncEvent"]);
  if (typeof type !== "string" || !aboutSessions.test(type)) return "never";
  const { properties } = event;
  return isObject(properties) ? subjectIn(type, properties) : "never";
}

const aboutSessions = /^(?:session|message|permission|question|todo|command)\./;

function subjectOfSync(event: unknown): EventSubject | "never" {
  if (!isObject(event)) return "never";
  const { type, aggregateID, data } = event;
  if (typeof type !== "string" || typeof aggregateID !== "string" || !isObject(data)) {
    return "never";
  }
  if (!aboutSessions.test(type)) return "never";
  const found = subjectIn(type, data);
  const sessions = found === "never" ? [] : found.sessions;
  return { ...(found === "never" ? {} : found), sessions: [aggregateID, ...sessions] };
}

/** Every place in which such events name their session. All of them must be the exposure's. */
function subjectIn(type: string, data: Record<string, unknown>): EventSubject | "never" {
  const info = isObject(data["info"]) ? data["info"] : {};
  const part = isObject(data["part"]) ? data["part"] : {};
  const ofSession = type.startsWith("session.");
  const named = [
    data["sessionID"],
    part["sessionID"],
    info["sessionID"],
    ofSession ? info["id"] : undefined,
  ].filter((id) => typeof id === "string");
  if (named.length === 0) return "never";
  const { id, parentID } = info;
  if (!type.startsWith("session.created") || typeof id !== "string") return { sessions: named };
  return typeof parentID === "string"
    ? { sessions: named, child: { id, parentID } }
    : { sessions: named };
}

export interface EventFilterOptions {
  reaches: (sessionID: string) => Promise<boolean>;
  /** Called before the event is passed on. */
  onChild: (child: { id: string; parentID: string }) => void;
  /** The id under which the client shows this message of its own already; undefined if it does not. */
  shownAs: (messageID: string) => string | undefined;
  /** An event that is larger is dropped. */
  mostBytes?: number;
}

const usualMost = 8 * 2 ** 20;

/** Where the event ends that a chunk begins or continues, or -1. Its blank line may be split over two chunks. */
function endOfEvent(before: Buffer | undefined, chunk: Buffer): number {
  const newline = 0x0a;
  if (before?.at(-1) === newline && chunk[0] === newline) return 1;
  const at = chunk.indexOf("\n\n");
  return at === -1 ? -1 : at + 2;
}

/** Passes an event on as soon as it is complete. */
export async function* filterEvents(
  source: AsyncIterable<Buffer>,
  { reaches, onChild, shownAs, mostBytes = usualMost }: EventFilterOptions,
): AsyncGenerator<Buffer> {
  /** Pieces of the event that is being read, joined at its end only: an event may come in thousands of them. */
  let pieces: Buffer[] = [];
  let length = 0;
  /** The event that is being read is too large. */
  let isSkipping = false;
  for await (const chunk of source) {
    let left = chunk;
    for (let end = endOfEvent(pieces.at(-1), left); end !== -1; end = endOfEvent(undefined, left)) {
      const isWhole = !isSkipping && length + end <= mostBytes;
      const frame = isWhole ? Buffer.concat([...pieces, left.subarray(0, end)]) : undefined;
      [pieces, length, isSkipping] = [[], 0, false];
      left = left.subarray(end);
      if (frame) yield* passed(frame);
    }
    if (left.length === 0) continue;
    length += left.length;
    isSkipping ||= length > mostBytes;
    // The last piece shows whether the next one begins with the end of the event.
    if (isSkipping) pieces = [left];
    else pieces.push(left);
  }

  async function* passed(frame: Buffer): AsyncGenerator<Buffer> {
    const data = dataOf(frame.toString());
    const subject = subjectOf(data);
    if (subject === "never") return;
    if (subject !== "always") {
      if (subject.child) onChild(subject.child);
      for (const id of subject.sessions) if (!(await reaches(id))) return;
    }
    yield frame;
    const removal = removalAfter(data, shownAs);
    if (removal) yield Buffer.from(`data: ${JSON.stringify(removal)}\n\n`);
  }
}

/**
 * The web app shows a prompt at once, under an id that it proposes. The session layer has the message stored under
 * another one, so the first is removed when that one arrives. undefined if the event is about something else.
 */
function removalAfter(data: unknown, shownAs: EventFilterOptions["shownAs"]): object | undefined {
  if (!isObject(data)) return undefined;
  const event = isObject(data["payload"]) ? data["payload"] : data;
  const { type, properties } = event;
  if (type !== "message.updated" || !isObject(properties) || !isObject(properties["info"])) {
    return undefined;
  }
  const { id, role, sessionID } = properties["info"];
  const messageID = role === "user" && typeof id === "string" ? shownAs(id) : undefined;
  if (messageID === undefined) return undefined;
  const removed = { ...event, type: "message.removed", properties: { sessionID, messageID } };
  return event === data ? removed : { ...data, payload: removed };
}

/** undefined if the event has no data, or none that is JSON. */
function dataOf(frame: string): unknown {
  const lines = frame.split("\n").filter((line) => line.startsWith("data:"));
  try {
    return JSON.parse(lines.map((line) => line.slice("data:".length)).join("\n")) as unknown;
  } catch {
    return undefined;
  }
}
