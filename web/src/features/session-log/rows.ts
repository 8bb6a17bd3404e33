// Entries and live text in, rows out. Incremental: a row that a later one has closed is not made again, unless an entry
// changes what it shows. However the entries are cut into pages and frames, the rows are the same.
import type { LiveItem, LivePiece } from "../../streams/live-text.ts";
import { folds } from "./fold.ts";
import { createItems, type Item, type ItemList } from "./items.ts";
import { laneRows, laneState, type Lane } from "./lanes.ts";
import type { Entry, LaneRow, LogState, Row } from "./row.ts";

export interface Rows {
  /** In the order of `seq`, beginning with any. */
  add: (entry: Entry) => void;
  addLive: (piece: LivePiece) => void;
  /** The same array as long as nothing has changed. */
  rows: () => readonly Row[];
  state: () => LogState;
}

export function createRows(): Rows {
  const items = createItems();
  const rowsOfList = createGrouping();
  let made: readonly Row[] | undefined;
  return {
    add(entry) {
      items.add(entry);
      made = undefined;
    },
    addLive(piece) {
      items.addLive(piece);
      made = undefined;
    },
    rows: () => (made ??= [...rowsOfList(items.main), ...items.live().flatMap(liveRows)]),
    state: items.state,
  };
}

/** The rows of a part of a log. */
export function rowsOf(entries: readonly Entry[], live: readonly LivePiece[] = []): readonly Row[] {
  const made = createRows();
  for (const entry of entries) made.add(entry);
  for (const piece of live) made.addLive(piece);
  return made.rows();
}

/** Neighbouring items that make rows together. */
interface Run {
  start: number;
  /** The item after its last one. */
  end: number;
  rowCount: number;
  /** Whether the next item may belong to it. */
  isJoining: boolean;
}

interface Group {
  rows: Row[];
  runs: Run[];
}

type CallItem = Item & { is: "call" };

/** Returns a function that keeps the rows of each list, and makes only those again whose items have changed. */
function createGrouping(): (list: ItemList) => readonly Row[] {
  const groups = new WeakMap<ItemList, Group>();
  const single = new WeakMap<Item, Row>();

  const rowsOfList = (list: ItemList): readonly Row[] => {
    const group = groups.get(list) ?? { rows: [], runs: [] };
    groups.set(list, group);
    const { items } = list;
    if (list.changedFrom < items.length) {
      let at = reopen(group, list.changedFrom);
      while (at < items.length) at = addRun(group, items, at);
      list.changedFrom = items.length;
    }
    return group.rows;
  };

  /** Adds the run that begins with an item; returns the item after it. */
  const addRun = (group: Group, items: readonly Item[], start: number): number => {
    const item = items[start]!;
    const add = (rows: Row[], end: number, isJoining: boolean) => {
      group.rows.push(...rows);
      group.runs.push({ start, end, rowCount: rows.length, isJoining });
      return end;
    };
    if (item.is === "reverted") return takeBack(group, item, start);
    if (isLane(item)) {
      const end = endOf(items, start, isLane);
      return add(
        laneRows(items.slice(start, end).map((each) => laneOf(each as CallItem))),
        end,
        true,
      );
    }
    if (isFolding(item)) {
      const end = endOf(items, start, isFolding);
      const calls = items.slice(start, end).map((each) => (each as CallItem).call);
      const { seq, key } = item;
      return add([{ is: "fold", key: `fold:${key}`, seq, calls }], end, true);
    }
    let row = single.get(item);
    if (!row) {
      row = rowOf(item);
      single.set(item, row);
    }
    return add([row], start + 1, false);
  };

  const laneOf = ({ key, seq, call, lane, isPast }: CallItem): Lane => {
    const calls = lane!.items.filter((item): item is CallItem => item.is === "call");
    const last = calls.at(-1)?.call;
    const row: LaneRow = {
      is: "lane",
      key,
      seq,
      call,
      state: laneState(
        call,
        calls.map((item) => item.call),
      ),
      now: last?.title,
      callCount: countCalls(lane!),
      rows: [...rowsOfList(lane!)],
    };
    return { row, isPast };
  };

  return rowsOfList;
}

/** Removes the rows that a change of this item can concern; returns the first item to read again. */
function reopen({ rows, runs }: Group, changed: number): number {
  let from = changed;
  const drop = () => {
    const { start, rowCount } = runs.pop()!;
    rows.length -= rowCount;
    return start;
  };
  while (runs.length > 0 && runs.at(-1)!.start > changed) drop();
  if (runs.length > 0 && runs.at(-1)!.end > changed) from = drop();
  // The run before may take in what has changed.
  if (runs.at(-1)?.isJoining) from = drop();
  return from;
}

/** Folds the rows from the reverted prompt on into one row. */
function takeBack({ rows, runs }: Group, item: Item & { is: "reverted" }, at: number): number {
  const { key, seq, messageId } = item;
  let first = rows.findLastIndex((row) => row.is === "prompt" && row.messageId === messageId);
  // The prompt is on a page that is not loaded, so all that is loaded comes after it.
  if (first === -1) first = 0;
  const taken = rows.splice(first);
  let start = at;
  let count = taken.length;
  while (count > 0) {
    const run = runs.pop()!;
    start = run.start;
    count -= run.rowCount;
  }
  rows.push({ is: "reverted", key, seq, at: item.at, rows: taken });
  runs.push({ start, end: at + 1, rowCount: 1, isJoining: false });
  return at + 1;
}

const isLane = (item: Item) => item.is === "call" && item.lane !== undefined;
const isFolding = (item: Item) => item.is === "call" && !item.lane && folds(item.call);

function endOf(items: readonly Item[], start: number, fits: (item: Item) => boolean): number {
  let end = start + 1;
  while (end < items.length && fits(items[end]!)) end++;
  return end;
}

function countCalls({ items }: ItemList): number {
  let count = 0;
  for (const item of items) {
    if (item.is === "call") count += 1 + (item.lane ? countCalls(item.lane) : 0);
  }
  return count;
}

function rowOf(item: Exclude<Item, { is: "reverted" }>): Row {
  const { key, seq } = item;
  switch (item.is) {
    case "prompt":
      return item;
    case "prose":
      return { is: "prose", key, seq, text: item.text, isOpen: false };
    case "thought":
      return { is: "thought", key, seq, text: item.text, ms: item.ms, isOpen: false };
    case "call":
      return { is: "call", key, seq, call: item.call };
    case "plan":
      return {
        is: "plan",
        key,
        seq,
        steps: item.versions.at(-1)!,
        earlier: item.versions.slice(0, -1),
      };
    case "shell":
      return { is: "shell", key, seq, ...item.shell };
    default:
      return item;
  }
}

/** A row of text that has no entry yet; none for a kind that this page does not know. */
function liveRows({ itemId, kind, text }: LiveItem): Row[] {
  const seq = null;
  if (kind === "message")
    return [{ is: "prose", key: `message:${itemId}`, seq, text, isOpen: true }];
  if (kind === "thought") {
    return [{ is: "thought", key: `message:${itemId}`, seq, text, ms: undefined, isOpen: true }];
  }
  if (kind !== "output") return [];
  const end = { exitCode: null, reason: null };
  const key = `shell:${itemId}`;
  return [{ is: "shell", key, seq, shellId: itemId, output: text, isOpen: true, ...end }];
}
