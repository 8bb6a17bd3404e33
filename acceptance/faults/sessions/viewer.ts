// A viewer of one session, like a page of the dashboard: it follows the session's events. If its connection
// ends, it resumes at its last entry on another node. It records everything that it receives.
import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "../history.ts";
import type { ViewerLog } from "./history.ts";

export interface Viewer extends AsyncDisposable {
  log: ViewerLog;
  /** The service's answers that were not a stream, with their counts. */
  refusals: Map<string, number>;
  lastSeq(): number;
  /** Cuts its connection. The viewer connects again. */
  cut(): void;
}

/** The nodes that it may use, and its key. */
export interface ViewedBed {
  key: string;
  nodes(): readonly { baseUrl: string }[];
}

const pauseMs = 100;

export function startViewer(
  bed: ViewedBed,
  viewer: string,
  sessionId: string,
  first: number,
): Viewer {
  const log: ViewerLog = { viewer, sessionId, seen: [] };
  const refusals: Viewer["refusals"] = new Map();
  const ended = new AbortController();
  let connection = new AbortController();
  const lastSeq = () => log.seen.at(-1)?.seq ?? 0;

  async function follow(baseUrl: string): Promise<void> {
    connection = new AbortController();
    const response = await fetch(`${baseUrl}/api/sessions/${sessionId}/events?after=${lastSeq()}`, {
      headers: { authorization: `Bearer ${bed.key}` },
      signal: AbortSignal.any([ended.signal, connection.signal]),
    });
    if (!response.ok || !response.body) {
      const answer = `${response.status} ${(await response.text()).slice(0, 200)}`;
      refusals.set(answer, (refusals.get(answer) ?? 0) + 1);
      return;
    }
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        const event = /^event: (.*)$/m.exec(frame)?.[1];
        // The viewer was too slow: entries may be missing from here on.
        if (event === "resync") return connection.abort();
        if (event === "entry") take(frame);
      }
    }
  }

  function take(frame: string): void {
    const { seq, at, turnId, update } = JSON.parse(/^data: (.*)$/m.exec(frame)![1]!) as Entry;
    const id = Number(/^id: (\d+)$/m.exec(frame)?.[1]);
    // The cursor with which it resumes is the entry's number.
    if (id !== seq) refusals.set(`the frame ${id} holds the entry ${seq}`, 1);
    log.seen.push({ seq, at, turnId, update, seenAt: Date.now() });
  }

  const following = (async () => {
    for (let turn = first; !ended.signal.aborted; turn++) {
      const nodes = bed.nodes();
      const node = nodes[turn % nodes.length];
      if (node) await follow(node.baseUrl).catch(() => {});
      await sleep(pauseMs);
    }
  })();

  return {
    log,
    refusals,
    lastSeq,
    cut: () => connection.abort(),
    async [Symbol.asyncDispose]() {
      ended.abort();
      await following;
    },
  };
}

/** Whether a viewer has seen how a turn ended. */
export function hasSeenEnd({ log }: Viewer, turnId: string): boolean {
  return log.seen.some(
    ({ turnId: of, update }) =>
      (update["sessionUpdate"] === "turn_finished" && of === turnId) ||
      (update["sessionUpdate"] === "prompt_dropped" && update["turnId"] === turnId),
  );
}
