// Follows the server's event stream, which carries the events of all directories. The stream replays
// nothing, so its listener must read what it missed each time the stream is opened.
import { backOff } from "../../link/back-off.ts";
import { pause } from "../../pause.ts";
import type { Api } from "./api.ts";
import { readFrame, type LiveEvent } from "./frames.ts";

interface Listener {
  /** The stream is open: every later event is delivered, earlier ones must be read from the server. */
  onOpen(): void;
  onEvent(event: LiveEvent): void;
  /** Called each time the stream has ended. */
  isServerAlive(): boolean;
}

/** The server sends a heartbeat every 10 s. */
const longestSilenceMs = 30_000;

/** Resolves when the signal is aborted or the server is gone. */
export async function followEvents(
  api: Api,
  listener: Listener,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted;) {
    const stream = new AbortController();
    const stop = () => stream.abort();
    signal.addEventListener("abort", stop);
    let watch = setTimeout(stop, longestSilenceMs);
    try {
      for await (const frame of framesOf(await api.open("/global/event", stream.signal))) {
        clearTimeout(watch);
        watch = setTimeout(stop, longestSilenceMs);
        failures = 0;
        if (isGreeting(frame)) listener.onOpen();
        else {
          const event = readFrame(frame);
          if (event) listener.onEvent(event);
        }
      }
    } catch {
      // Opens the stream again, whether it was cut, silent or never opened.
    } finally {
      clearTimeout(watch);
      signal.removeEventListener("abort", stop);
      stream.abort();
    }
    if (signal.aborted || !listener.isServerAlive()) return;
    failures++;
    await pause(backOff(failures, { firstMs: 100, longestMs: 5_000 }), signal);
  }
}

const isGreeting = (frame: unknown) =>
  (frame as { payload?: { type?: string } }).payload?.type === "server.connected";

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body) {
    // The blank line that ends a frame may be split over two chunks.
    let from = Math.max(0, text.length - 1);
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf("\n\n", from); end !== -1; end = text.indexOf("\n\n", from)) {
      const frame = text.slice(0, end);
      text = text.slice(end + 2);
      from = 0;
      if (frame.startsWith("data:")) yield JSON.parse(frame.slice("data:".length)) as unknown;
    }
  }
}
