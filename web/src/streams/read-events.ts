// Reads one connection of server-sent events with `fetch`. Unlike EventSource this tells a refusal from a broken line,
// notices silence, can be stopped, and sends `Last-Event-ID` itself. Connecting again is connection.ts's work.

export interface StreamFrame {
  event: string;
  data: string;
  /** The position to continue after; undefined for frames without one. */
  id: string | undefined;
}

/** How a connection ended. */
export type StreamEnd =
  /** The service answered, but not with a stream. */
  | { why: "refused"; status: number; code: string | undefined; retryAfterMs: number | undefined }
  /** The service closed it. */
  | { why: "ended" }
  /** It broke, could not be made, or was silent for too long. */
  | { why: "broken" }
  | { why: "stopped" };

export interface ReadEvents {
  url: string;
  /** Read for each connection, because the organization and the sign-in can change. */
  headers?: Record<string, string>;
  lastEventId?: string | undefined;
  onOpen?: () => void;
  onFrame: (frame: StreamFrame) => void;
  /** Called for whatever arrives, also for a comment: what was read before is true until now. */
  onAlive?: () => void;
  signal: AbortSignal;
  /** Without a byte for this long the connection counts as broken. The service sends `: alive` every 15 s. */
  silenceMs?: number;
}

const defaultSilenceMs = 40_000;

/** Resolves when the connection is over; never rejects. */
export async function readEvents(options: ReadEvents): Promise<StreamEnd> {
  const { url, headers, lastEventId, onOpen, onFrame, onAlive, signal } = options;
  if (signal.aborted) return { why: "stopped" };
  const cut = new AbortController();
  const both = AbortSignal.any([signal, cut.signal]);
  const silence = deadline(options.silenceMs ?? defaultSilenceMs, () => cut.abort());
  try {
    const response = await fetch(url, {
      headers: {
        accept: "text/event-stream",
        ...headers,
        ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
      },
      cache: "no-store",
      signal: both,
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (!response.ok || !isStream || !response.body) return await refusalIn(response);
    onOpen?.();
    const parse = frameParser(onFrame);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      silence.restart();
      const { done, value } = await reader.read();
      if (done) return { why: "ended" };
      onAlive?.();
      parse(decoder.decode(value, { stream: true }));
    }
  } catch {
    // What broke makes no difference: the caller connects again.
    return { why: signal.aborted ? "stopped" : "broken" };
  } finally {
    silence.end();
    // The body of a connection that is no longer read must not stay open.
    cut.abort();
  }
}

/** Returns a function that accepts text in any pieces and calls `onFrame` for each whole frame that has an event. */
export function frameParser(onFrame: (frame: StreamFrame) => void): (text: string) => void {
  let line = "";
  let event = "";
  let data: string[] = [];
  let id: string | undefined;
  const endLine = (whole: string) => {
    if (whole === "") {
      // A frame without data is not delivered, as in EventSource.
      if (data.length > 0) onFrame({ event: event || "message", data: data.join("\n"), id });
      event = "";
      data = [];
      id = undefined;
      return;
    }
    const colon = whole.indexOf(":");
    // A line that begins with a colon is a comment, such as `: alive`.
    if (colon === 0) return;
    const name = colon === -1 ? whole : whole.slice(0, colon);
    const value = colon === -1 ? "" : whole.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    if (name === "data") data.push(value);
    if (name === "id") id = value;
  };
  return (text) => {
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      const whole = line + text.slice(from, at);
      line = "";
      from = at + 1;
      endLine(whole.endsWith("\r") ? whole.slice(0, -1) : whole);
    }
    line += text.slice(from);
  };
}

async function refusalIn(response: Response): Promise<StreamEnd> {
  const { status } = response;
  // A balancer answers in its own words when it reaches no node.
  const text = await response.text();
  if (response.ok || [502, 503, 504].includes(status)) return { why: "broken" };
  let code: string | undefined;
  let retryAfterMs: number | undefined;
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string; retryAfterMs?: number } };
    ({ code, retryAfterMs } = error ?? {});
  } catch {
    // The status alone is the answer.
  }
  return { why: "refused", status, code, retryAfterMs };
}

/** A timer that can be started again. */
function deadline(ms: number, onPassed: () => void) {
  let timer = setTimeout(onPassed, ms);
  return {
    restart() {
      clearTimeout(timer);
      timer = setTimeout(onPassed, ms);
    },
    end: () => clearTimeout(timer),
  };
}
