// Shows a session's events as lines: entries of its log, and text while it is being written.
import type { SessionStreamEvent } from "@hawser/client";
import { printable } from "@hawser/daemon/command-line/print.ts";
import { headingOf, showUpdate, type Shown } from "./session-lines.ts";
import { openBlock, type TextBlock } from "./text-block.ts";

type Entry = Extract<SessionStreamEvent, { type: "entry" }>;
type Live = Extract<SessionStreamEvent, { type: "live" }>;

export interface SessionScreen {
  entry(entry: Entry): void;
  live(live: Live): void;
}

/** `columns`: the width of a terminal; undefined if it is none, which then shows only whole texts. */
export function openScreen(
  write: (text: string) => void,
  columns: number | undefined,
): SessionScreen {
  const titles = new Map<string, string>();
  /** Text of each item that is still being written, by the id of the item. */
  const growing = new Map<string, string>();
  let open: { itemId: string; block: TextBlock } | undefined;

  function close(): void {
    open?.block.end();
    open = undefined;
  }

  function show({ heading, title, text, notes = [] }: Shown): void {
    close();
    // Ours, but for ids and codes, which a service that is not trusted can make up.
    write(printable(heading));
    if (title === undefined) write("\n");
    else putTitle(heading, title);
    if (text) put(text);
    // Never wrapped: a command with a line break in it could not be pasted.
    for (const note of notes) write(`  ${note}\n`);
  }

  function putTitle(heading: string, title: string): void {
    write(" ");
    const block = openBlock(write, columns, heading.length + 1);
    block.add(title);
    block.end();
  }

  function put(text: string): void {
    const block = openBlock(write, columns);
    block.add(text);
    block.end();
  }

  return {
    entry({ update }) {
      const shown = showUpdate(update, titles);
      if (!shown) return;
      const itemId = "messageId" in update ? update.messageId : undefined;
      const before = itemId === undefined ? undefined : growing.get(itemId);
      if (itemId === undefined || before === undefined) return show(shown);
      growing.delete(itemId);
      const text = shown.text ?? "";
      // A piece was lost, so the whole text is shown.
      if (!text.startsWith(before)) return show(shown);
      if (open?.itemId === itemId) open.block.add(text.slice(before.length));
      else if (text.length > before.length) show({ ...shown, text: text.slice(before.length) });
      close();
    },

    live({ itemId, kind, text, offset }) {
      // Output of tools is shown at their end.
      if (columns === undefined || kind === "output") return;
      const before = growing.get(itemId) ?? "";
      if (offset > before.length) return;
      const piece = text.slice(before.length - offset);
      if (piece === "") return;
      if (open?.itemId !== itemId) {
        const type = kind === "thought" ? "agent_thought_chunk" : "agent_message_chunk";
        show({ heading: headingOf({ sessionUpdate: type }) });
        open = { itemId, block: openBlock(write, columns) };
      }
      open.block.add(piece);
      growing.set(itemId, before + piece);
    },
  };
}
