// Server-sent events as async iterators. A connection that breaks or falls silent is made again, and a
// session's log continues after the last entry that was delivered: without a gap and without a repeat.
import type { Session, SessionUpdate } from "./actions.ts";
import { Unanswered } from "./errors.ts";
import { broken, request, type Service } from "./request.ts";
import { limitBy, pause, pauseAfter, type Limit } from "./waiting.ts";

/** An entry of a session's log, text that is being written, or the session's record when it differs. */
export type SessionStreamEvent =
  | {
      type: "entry";
      sessionId: string;
      /** 1, 2, 3 … in each session. */
      seq: number;
      at: string;
      turnId: string | null;
      update: SessionUpdate;
    }
  | {
      type: "live";
      sessionId: string;
      itemId: string;
      turnId: string | null;
      kind: "message" | "thought" | "output";
      /** Belongs at `offset` of the item. It may be lost; the item's entry replaces it. */
      text: string;
      offset: number;
    }
  | { type: "record"; record: Session };

/** A record that has changed. After `resync`, which is also sent first, read every record again. */
export type OrganizationEvent =
  | { type: "changed"; record: "instance" | "session" | "request"; id: string }
  | { type: "resync" };

export interface FollowOptions {
  /** Ends the iteration with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface FollowSession extends FollowOptions {
  sessionId: string;
  /** Delivers entries after this `seq`. Default: 0, the whole log. */
  after?: number | undefined;
}

type Entry = Omit<Extract<SessionStreamEvent, { type: "entry" }>, "type">;
type Live = Omit<Extract<SessionStreamEvent, { type: "live" }>, "type">;

export async function* followSession(
  service: Service,
  { sessionId, after = 0, signal }: FollowSession,
): AsyncGenerator<SessionStreamEvent, void, void> {
  const path = `/api/sessions/${encodeURIComponent(sessionId)}/events`;
  for await (const { event, data } of frames(service, () => `${path}?after=${after}`, signal)) {
    if (event === "record") yield { type: event, record: JSON.parse(data) as Session };
    if (event === "live") yield { type: event, ...(JSON.parse(data) as Live) };
    if (event !== "entry") continue;
    const entry = JSON.parse(data) as Entry;
    if (entry.seq <= after) continue;
    if (entry.seq > after + 1) {
      throw new Error(`The log of ${sessionId} has a gap: ${after} is followed by ${entry.seq}.`);
    }
    after = entry.seq;
    yield { type: event, ...entry };
  }
}

export async function* followEvents(
  service: Service,
  { signal }: FollowOptions = {},
): AsyncGenerator<OrganizationEvent, void, void> {
  for await (const { event, data } of frames(service, () => "/api/events", signal)) {
    // Events have no numbers, so what happened before a connection may be missing.
    if (event === "connected") yield { type: "resync" };
    if (event === "changed" || event === "resync") yield JSON.parse(data) as OrganizationEvent;
  }
}

interface Frame {
  event: string;
  data: string;
}

/** A connection that lasted this long was a good one: the next pause is short again. */
const goodConnectionMs = 5_000;

/**
 * Frames of one connection after the other, each begun by a frame `connected`. Throws if the service refuses the
 * stream, or if no connection can be made within the deadline.
 */
async function* frames(
  service: Service,
  path: () => string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame, void, void> {
  let lostAt = performance.now();
  for (let failures = 1; ; failures++) {
    const limit = limitBy(signal);
    let connectedAt = Infinity;
    let failure: unknown;
    try {
      limit.within(service.attemptMs);
      const action = `GET ${path()}`;
      const headers = { accept: "text/event-stream" };
      const response = await request(service, action, path(), { headers, signal: limit.signal });
      connectedAt = performance.now();
      limit.unlimited();
      yield { event: "connected", data: "" };
      yield* framesIn(response.body!.getReader(), limit, service.silenceMs, action);
      failure = new Unanswered(`${action} ended.`);
    } catch (error) {
      signal?.throwIfAborted();
      failure = error;
    } finally {
      // This also runs when the caller stops reading.
      limit.end();
    }
    const now = performance.now();
    if (now > connectedAt) lostAt = now;
    if (now - connectedAt > goodConnectionMs) failures = 1;
    const pauseMs = pauseAfter(failure, failures);
    if (pauseMs === undefined || now + pauseMs - lostAt >= service.deadlineMs) throw failure;
    await pause(pauseMs, signal);
  }
}

async function* framesIn(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: Limit,
  silenceMs: number,
  action: string,
): AsyncGenerator<Frame, void, void> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    // Only while reading: the time that the caller needs for an event is not silence.
    limit.within(silenceMs);
    const { done, value } = await reader.read().catch((error: unknown) => broken(action, error));
    limit.unlimited();
    if (done) return;
    let from = Math.max(text.length - 1, 0);
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf("\n\n", from); end !== -1; end = text.indexOf("\n\n", from)) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      from = 0;
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field("event");
      // Other frames are comments that show that the connection works.
      if (event !== undefined) yield { event, data: field("data") ?? "" };
    }
  }
}
