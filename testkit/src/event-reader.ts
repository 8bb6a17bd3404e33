// A reader of GET /api/events, like a dashboard.
import { connect } from "node:net";

export interface FeedEvent {
  type: string;
  record?: string;
  id?: string;
  /** The time at which it arrived, by performance.now(). */
  at: number;
}

export interface EventReader extends AsyncDisposable {
  events: FeedEvent[];
  /** Waits for an event that arrived at or after `since`. */
  until(
    what: string,
    test: (event: FeedEvent) => boolean,
    options?: { since?: number; patienceMs?: number },
  ): Promise<FeedEvent>;
}

/** Returns once the server streams events. */
export async function readEvents(baseUrl: string, key: string): Promise<EventReader> {
  const ended = new AbortController();
  const response = await fetch(`${baseUrl}/api/events`, {
    headers: { authorization: `Bearer ${key}` },
    signal: ended.signal,
  });
  if (!response.ok || !response.body)
    throw new Error(`GET /api/events was answered with ${response.status}.`);
  const events: FeedEvent[] = [];
  let text = "";
  const started = Promise.withResolvers<void>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      started.resolve();
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (!data) continue;
        const event = JSON.parse(data) as Omit<FeedEvent, "at">;
        events.push({ ...event, at: performance.now() });
      }
    }
  })().catch(() => started.resolve());
  await started.promise;
  return {
    events,
    async until(what, test, { since = 0, patienceMs = 10_000 } = {}) {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        const found = events.find((event) => event.at >= since && test(event));
        if (found) return found;
        if (performance.now() > deadline) {
          throw new Error(`No event within ${patienceMs} ms: ${what}.`);
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

export interface StalledReader extends Disposable {
  /** Starts reading again, and returns the text as soon as it contains `pattern`. */
  readUntil(pattern: string, patienceMs?: number): Promise<string>;
}

/** Requests the events, and then reads nothing while its connection stays open. */
export async function stallAtEvents(baseUrl: string, key: string): Promise<StalledReader> {
  const { hostname, port, host } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  let text = "";
  await new Promise<void>((resolve) => {
    socket.once("data", (chunk: Buffer) => {
      text = chunk.toString();
      socket.pause();
      resolve();
    });
  });
  if (!text.startsWith("HTTP/1.1 200"))
    throw new Error(`GET /api/events was answered with ${text}`);
  return {
    async readUntil(pattern, patienceMs = 20_000) {
      const deadline = performance.now() + patienceMs;
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
      socket.resume();
      while (!text.includes(pattern)) {
        if (performance.now() > deadline)
          throw new Error(`"${pattern}" was not received within ${patienceMs} ms.`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return text;
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}
