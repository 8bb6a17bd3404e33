// A viewer of one session, like a dashboard: GET /api/sessions/{id}/events.
import type { SessionUpdate } from "@hawser/contract";
import type { LiveText } from "@hawser/host-protocol";

export interface SeenEntry {
  sessionId: string;
  seq: number;
  at: string;
  turnId: string | null;
  update: SessionUpdate;
  /** The time at which it arrived, by performance.now(). */
  seenAt: number;
}

export interface SessionReader extends AsyncDisposable {
  entries: SeenEntry[];
  live: (LiveText & { seenAt: number })[];
  /** Names of the other frames: `record`, `resync`. */
  others: string[];
  isOpen: () => boolean;
  /** Waits until an entry was seen. */
  until(what: string, test: (entry: SeenEntry) => boolean, patienceMs?: number): Promise<SeenEntry>;
}

/** Returns once the server streams entries. */
export async function readSession(
  baseUrl: string,
  key: string,
  sessionId: string,
  { after, lastEventId }: { after?: number; lastEventId?: number } = {},
): Promise<SessionReader> {
  const ended = new AbortController();
  const query = after === undefined ? "" : `?after=${after}`;
  const response = await fetch(`${baseUrl}/api/sessions/${sessionId}/events${query}`, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { "last-event-id": String(lastEventId) }),
    },
    signal: ended.signal,
  });
  if (!response.ok || !response.body)
    throw new Error(`The stream was answered with ${response.status}.`);
  const entries: SeenEntry[] = [];
  const live: SessionReader["live"] = [];
  const others: string[] = [];
  let open = true;
  const take = (frame: string) => {
    const name = /^event: (.*)$/m.exec(frame)?.[1];
    const data = /^data: (.*)$/m.exec(frame)?.[1];
    if (!name || !data) return;
    const seenAt = performance.now();
    if (name === "entry") entries.push({ ...(JSON.parse(data) as SeenEntry), seenAt });
    else if (name === "live") live.push({ ...(JSON.parse(data) as LiveText), seenAt });
    else others.push(name);
  };
  const reading = (async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      frames.forEach(take);
    }
  })()
    .catch(() => {})
    .finally(() => {
      open = false;
    });
  return {
    entries,
    live,
    others,
    isOpen: () => open,
    async until(what, test, patienceMs = 10_000) {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        const found = entries.find(test);
        if (found) return found;
        if (performance.now() > deadline) {
          throw new Error(
            `Not seen within ${patienceMs} ms: ${what}; ${entries.length} entries were.`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await reading;
    },
  };
}
