// The stream of one session: entries in order after a position, live text, and the record. Only the visible tab has
// one; a hidden tab closes it after a minute and keeps its position.
import { keepConnected, type ConnectionState, type KeepConnected } from "./connection.ts";

export interface ViewEntry {
  seq: number;
  at: string;
  turnId: string | null;
  update: Record<string, unknown> & { sessionUpdate: string };
}

export interface ViewLive {
  itemId: string;
  turnId: string | null;
  kind: string;
  text: string;
  offset: number;
}

export interface SessionViewOptions extends Pick<
  KeepConnected,
  "watchWake" | "silenceMs" | "pauseMs" | "now"
> {
  url: string;
  headers: () => Record<string, string>;
  /** Entries after this `seq` are delivered. */
  after: number;
  onEntry: (entry: ViewEntry) => void;
  onLive: (live: ViewLive) => void;
  onRecord: (record: unknown) => void;
  /** A connection is open; `isAgain` if entries may have been missed meanwhile. */
  onOpen?: (isAgain: boolean) => void;
  onState: (state: ConnectionState) => void;
  /** An entry came after a gap, which cannot happen. The view connects again from the last good one. */
  onGap?: (expected: number, got: number) => void;
  document: EventTarget & { visibilityState: string };
  hiddenMs?: number;
  signal: AbortSignal;
}

const defaultHiddenMs = 60_000;

/** Resolves when the view is over: stopped, or refused. */
export async function followView(options: SessionViewOptions): Promise<void> {
  const { url, headers, onEntry, onLive, onRecord, onOpen, onGap, document, signal } = options;
  let last = options.after;
  let opened = 0;
  let isRefused = false;
  const onFrame: KeepConnected["onFrame"] = ({ event, data }) => {
    if (event === "resync") return "again";
    if (event === "record") onRecord(JSON.parse(data));
    if (event === "live") onLive(JSON.parse(data) as ViewLive);
    if (event !== "entry") return undefined;
    const entry = JSON.parse(data) as ViewEntry;
    if (entry.seq <= last) return undefined;
    if (entry.seq > last + 1) {
      onGap?.(last + 1, entry.seq);
      return "again";
    }
    last = entry.seq;
    onEntry(entry);
    return undefined;
  };
  for (;;) {
    const hidden = new AbortController();
    const unwatch = watchHidden(document, options.hiddenMs ?? defaultHiddenMs, () =>
      hidden.abort(),
    );
    await keepConnected({
      ...options,
      target: () => ({
        url: `${url}?after=${last}`,
        headers: headers(),
        // A proxy that repeats a request for us would begin at the query's position.
        lastEventId: opened > 0 ? String(last) : undefined,
      }),
      onOpen: () => onOpen?.(opened++ > 0),
      onFrame,
      onState(state) {
        isRefused = state.is === "refused";
        options.onState(state);
      },
      signal: AbortSignal.any([signal, hidden.signal]),
    });
    unwatch();
    if (isRefused || signal.aborted) return;
    await untilVisible(document, signal);
  }
}

/** Calls `onHidden` once the page was hidden for this long. */
function watchHidden(
  document: SessionViewOptions["document"],
  ms: number,
  onHidden: () => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const check = () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(onHidden, ms);
  };
  document.addEventListener("visibilitychange", check);
  check();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", check);
  };
}

function untilVisible(
  document: SessionViewOptions["document"],
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (document.visibilityState !== "visible" && !signal.aborted) return;
      document.removeEventListener("visibilitychange", check);
      signal.removeEventListener("abort", check);
      resolve();
    };
    document.addEventListener("visibilitychange", check);
    signal.addEventListener("abort", check);
    check();
  });
}
