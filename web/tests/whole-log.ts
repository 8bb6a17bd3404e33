// Whether a page shows the complete log of a session: every prompt, message, call and end of a turn, once and in order.
import assert from "node:assert/strict";
import type { BrowserPage } from "@hawser/testkit/browser.ts";
import type { Caller } from "@hawser/testkit/caller.ts";

type Page = BrowserPage["page"];

/** Compares the transcript on this page with the stored log. Everything that is folded must be open. */
export async function assertWholeLog(page: Page, caller: Caller, sessionId: string): Promise<void> {
  const stored = await storedParts(caller, sessionId);
  assert.deepEqual(await page.evaluate(shownParts), stored);
}

const ends: Record<string, string> = {
  completed: "finished",
  aborted: "was stopped",
  failed: "failed",
  interrupted: "process went away",
};

async function storedParts(caller: Caller, sessionId: string): Promise<string[]> {
  const { events, hasMore } = await caller.list_session_events({ sessionId, limit: 500 });
  assert.equal(hasMore, false);
  const seen = new Set<string>();
  return events.flatMap(({ seq, update }, at) => {
    assert.equal(seq, at + 1, "the stored log has no gap");
    const { sessionUpdate, messageId, toolCallId, outcome, content } = update as Record<
      string,
      string
    >;
    const { text = "" } = (content ?? {}) as { text?: string };
    switch (sessionUpdate) {
      case "user_message_chunk":
        return [`prompt ${messageId}`];
      case "agent_message_chunk":
        return text.trim() === "" ? [] : [`message ${plain(text)}`];
      case "tool_call":
        if (seen.has(toolCallId!)) return [];
        seen.add(toolCallId!);
        return [`call ${toolCallId}`];
      case "turn_finished":
        return [`turn ${ends[outcome!]}`];
      default:
        return [];
    }
  });
}

/** Without the marks of code, which the page draws otherwise. */
const plain = (text: string) => text.replaceAll(/[`\s]+/g, " ").trim();

/** Runs in the page: scrolls through the transcript, because only the rows in sight are drawn. */
async function shownParts(): Promise<string[]> {
  const scroller = document.querySelector(".log")!;
  const partsOf = (row: Element) => {
    const parts = row.querySelectorAll(".said[id], .prose:not(.plain), [data-call], .turn-end");
    return [...parts].flatMap((part) => {
      if (part.matches(".said")) return [`prompt ${part.id}`];
      const text = (part as HTMLElement).innerText.replace(/\s+/g, " ").trim();
      if (part.matches(".prose")) return [`message ${text}`];
      const call = part.getAttribute("data-call");
      if (call !== null) return [`call ${call}`];
      const end = /^Turn.*(finished|was stopped|failed|process went away)/.exec(text)?.[1];
      return end === undefined ? [] : [`turn ${end}`];
    });
  };
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const rows = new Map<number, string[]>();
  scroller.scrollTop = 0;
  for (let before = -1; scroller.scrollTop !== before;) {
    // The list measures what it has drawn before it is read.
    for (let frames = 0; frames < 4; frames++) await frame();
    for (const row of scroller.querySelectorAll<HTMLElement>(".log-row")) {
      rows.set(Number(row.dataset["index"]), partsOf(row));
    }
    before = scroller.scrollTop;
    scroller.scrollTop += scroller.clientHeight / 2;
  }
  return [...rows].toSorted(([a], [b]) => a - b).flatMap(([, parts]) => parts);
}
