// Reads entries one by one into items: what each is about, with later entries that complete it. An item is replaced by
// a new object when it changes, so that rows.ts sees which rows are to be made again.
import { addPiece, type LiveItem, type LivePiece } from "../../streams/live-text.ts";
import { words } from "../../words/words.ts";
import { laneState } from "./lanes.ts";
import { queueEntryOf, waitingAfter } from "./waiting.ts";
import type {
  Call,
  Entry,
  LogState,
  Note,
  PlanStep,
  QueueEntry,
  RunningTurn,
  SentFile,
  ShellRow,
  ThoughtRow,
  UpdateOf,
  WaitingPrompt,
} from "./row.ts";
import type { SessionUpdate } from "@hawser/client";

export type Item =
  | {
      is: "prompt";
      key: string;
      seq: number;
      at: string;
      turnId: string | null;
      messageId: string;
      text: string;
      by: string | null | undefined;
      files: readonly SentFile[];
    }
  | { is: "prose"; key: string; seq: number; text: string }
  | { is: "thought"; key: string; seq: number; text: string; ms: ThoughtRow["ms"] }
  | {
      is: "call";
      key: string;
      seq: number;
      call: Call;
      lane: ItemList | undefined;
      isPast: boolean;
    }
  | { is: "plan"; key: string; seq: number; versions: PlanStep[][] }
  | { is: "shell"; key: string; seq: number; shell: Omit<ShellRow, "is" | "key" | "seq"> }
  | { is: "reverted"; key: string; seq: number; at: string; messageId: string }
  | { is: "note"; key: string; seq: number; at: string; note: Note };

/** Items of the session's own agent, or of one sub-agent. */
export interface ItemList {
  items: Item[];
  /** The first item that has changed since the rows were made. */
  changedFrom: number;
  /** Where the sub-agent's call is; undefined for the session's own agent. */
  parent: Place | undefined;
}

interface Place {
  list: ItemList;
  at: number;
}

export interface Items {
  main: ItemList;
  /** Text that is being written and has no entry yet, in the order of its beginning. */
  live: () => LiveItem[];
  add: (entry: Entry) => void;
  addLive: (piece: LivePiece) => void;
  state: () => LogState;
}

interface Turn {
  number: number | undefined;
  startedAt: string | undefined;
  messageId: string | undefined;
  /** The session's cost before it; undefined if unknown. */
  costBefore: number | undefined;
  isOver: boolean;
  calls: Set<string>;
  lanes: Set<string>;
}

/** Entries must be added in the order of their `seq`, from any one on. */
export function createItems(): Items {
  const main: ItemList = { items: [], changedFrom: 0, parent: undefined };
  const places = new Map<string, Place>();
  const turns = new Map<string, Turn>();
  const raised = new Map<string, UpdateOf<"request_raised">>();
  const decisions = new Map<string, Call["decided"]>();
  const live = new Map<string, LiveItem>();
  /** Items of live text whose entry is here, or will never come. */
  const landed = new Set<string>();
  let waiting: readonly WaitingPrompt[] = [];
  let queueEntries: readonly QueueEntry[] = [];
  const prompts = new Set<string>();
  let authors: ReadonlySet<string> = new Set();
  const shells = new Map<string, Place>();
  let plan: Place | undefined;
  let first = 0;
  let last: Entry | undefined;
  let turnCount = 0;
  let running: string | undefined;
  let model: string | undefined;
  let agent: string | undefined;
  let usage: UpdateOf<"usage_update"> | undefined;
  let cost: number | undefined;
  let context: LogState["context"];
  let isEnded = false;
  let openRequests = 0;
  let rulesSeq = 0;

  const push = (list: ItemList, item: Item): Place => {
    list.changedFrom = Math.min(list.changedFrom, list.items.length);
    list.items.push(item);
    if (list.parent) touch(list.parent);
    return { list, at: list.items.length - 1 };
  };
  const replace = ({ list, at }: Place, item: Item) => {
    list.items[at] = item;
    list.changedFrom = Math.min(list.changedFrom, at);
    if (list.parent) touch(list.parent);
  };
  const touch = (place: Place) => replace(place, { ...place.list.items[place.at]! });

  /** The list of a sub-agent; its call becomes a lane with the first entry of the sub-agent. */
  const listOf = (parentToolCallId: string | null | undefined, entry: Entry): ItemList => {
    if (parentToolCallId === null || parentToolCallId === undefined) return main;
    // The page with the call itself may not be loaded.
    const place =
      places.get(parentToolCallId) ?? beginCall(main, entry, unseenCall(parentToolCallId, entry));
    const item = place.list.items[place.at] as Item & { is: "call" };
    if (item.lane) return item.lane;
    const lane: ItemList = { items: [], changedFrom: 0, parent: place };
    const turn = turnOf(item.call.turnId);
    replace(place, { ...item, lane, isPast: turn?.isOver ?? false });
    turn?.lanes.add(parentToolCallId);
    return lane;
  };
  const beginCall = (list: ItemList, entry: Entry, call: Call): Place => {
    const key = `call:${call.toolCallId}`;
    const place = push(list, {
      is: "call",
      key,
      seq: entry.seq,
      call,
      lane: undefined,
      isPast: false,
    });
    places.set(call.toolCallId, place);
    turnOf(call.turnId)?.calls.add(call.toolCallId);
    return place;
  };
  const changeCall = (toolCallId: string, change: Partial<Call>, isPast?: boolean) => {
    const place = places.get(toolCallId);
    if (!place) return;
    const item = place.list.items[place.at] as Item & { is: "call" };
    replace(place, {
      ...item,
      call: { ...item.call, ...change },
      isPast: isPast ?? item.isPast,
    });
  };
  const turnOf = (turnId: string | null): Turn | undefined => {
    if (turnId === null) return undefined;
    let turn = turns.get(turnId);
    if (!turn) {
      turn = {
        number: undefined,
        startedAt: undefined,
        messageId: undefined,
        costBefore: undefined,
        isOver: false,
        calls: new Set(),
        lanes: new Set(),
      };
      turns.set(turnId, turn);
    }
    return turn;
  };
  const land = (itemId: string) => {
    live.delete(itemId);
    landed.add(itemId);
  };
  const note = (entry: Entry, value: Note) =>
    push(main, { is: "note", key: `note:${entry.seq}`, seq: entry.seq, at: entry.at, note: value });

  const readers: {
    [Word in SessionUpdate["sessionUpdate"]]?: (update: UpdateOf<Word>, entry: Entry) => void;
  } = {
    user_message_chunk({ messageId, content, by, attachments = [] }, { seq, at, turnId }) {
      prompts.add(messageId);
      if (by && !authors.has(by)) authors = new Set([...authors, by]);
      push(main, {
        is: "prompt",
        key: `prompt:${messageId}`,
        seq,
        at,
        turnId,
        messageId,
        text: content.text,
        by,
        files: attachments,
      });
    },
    agent_message_chunk({ messageId, content, parentToolCallId }, entry) {
      land(messageId);
      const { seq } = entry;
      push(listOf(parentToolCallId, entry), {
        is: "prose",
        key: `message:${messageId}`,
        seq,
        text: content.text,
      });
    },
    agent_thought_chunk({ messageId, content, parentToolCallId }, entry) {
      land(messageId);
      const ms = last ? Math.max(0, Date.parse(entry.at) - Date.parse(last.at)) : undefined;
      const key = `message:${messageId}`;
      push(listOf(parentToolCallId, entry), {
        is: "thought",
        key,
        seq: entry.seq,
        text: content.text,
        ms,
      });
    },
    tool_call({ toolCallId, kind, title, rawInput, parentToolCallId }, entry) {
      const { seq, at, turnId } = entry;
      beginCall(listOf(parentToolCallId, entry), entry, {
        toolCallId,
        kind,
        title,
        rawInput,
        seq,
        at,
        turnId,
        state: "running",
        endedAt: undefined,
        exitCode: undefined,
        content: [],
        decided: decisions.get(toolCallId),
      });
    },
    tool_call_update({ toolCallId, title, status, content, exitCode }, { at }) {
      changeCall(toolCallId, {
        ...(title !== undefined && { title }),
        state: status,
        endedAt: at,
        exitCode,
        content,
      });
    },
    call_decided(update, entry) {
      const { toolCallId, answer, rule, mode } = update;
      if (toolCallId === null) {
        // No other entry of the log shows that the agent was refused something.
        if (answer === "deny") note(entry, { of: "entry", update });
        return;
      }
      const decided = { answer, rule, mode };
      decisions.set(toolCallId, decided);
      changeCall(toolCallId, { decided });
    },
    plan({ entries }, { seq, turnId }) {
      const known = plan?.list.items[plan.at] as (Item & { is: "plan" }) | undefined;
      const isSameTurn = known?.key === `plan:${turnId}`;
      if (plan && known && isSameTurn) {
        replace(plan, { ...known, versions: [...known.versions, entries] });
      } else {
        plan = push(main, { is: "plan", key: `plan:${turnId}`, seq, versions: [entries] });
      }
    },
    usage_update(update) {
      usage = update;
      context = update.context ?? context;
      cost = update.costUsd ?? undefined;
    },
    session_info_update() {},
    session_placed() {},
    prompt_queued({ messageId }) {
      prompts.add(messageId);
    },
    prompt_changed() {},
    prompt_moved() {},
    prompt_dropped({ messageId, cause }, entry) {
      const text = waiting.find((each) => each.messageId === messageId)?.text;
      prompts.add(messageId);
      note(entry, { of: "dropped", text, messageId, isRemoved: cause === "removed" });
    },
    turn_started(update, entry) {
      const turn = turnOf(entry.turnId);
      turnCount++;
      prompts.add(update.messageId);
      if (turn) {
        turn.number = first === 1 ? turnCount : undefined;
        turn.startedAt = entry.at;
        turn.messageId = update.messageId;
        turn.costBefore = usage ? cost : first === 1 ? 0 : undefined;
        running = entry.turnId!;
      }
      const nextModel = update.model ? update.model.modelId : undefined;
      const changed = {
        model: model !== undefined && nextModel !== model ? nextModel : undefined,
        agent:
          turnCount > 1 && (update.agent ?? undefined) !== agent ? (update.agent ?? "") : undefined,
      };
      if (changed.model !== undefined || changed.agent !== undefined)
        note(entry, { of: "model", ...changed });
      model = nextModel;
      agent = update.agent ?? undefined;
    },
    turn_finished({ outcome, reason }, entry) {
      const turn = turnOf(entry.turnId);
      const { costBefore, startedAt, number } = turn ?? {};
      note(entry, {
        of: "turn",
        end: {
          outcome,
          reason,
          number,
          ms:
            startedAt === undefined
              ? undefined
              : Math.max(0, Date.parse(entry.at) - Date.parse(startedAt)),
          costUsd:
            costBefore === undefined || cost === undefined
              ? undefined
              : Math.max(0, cost - costBefore),
          costIsEstimate: usage?.costIsEstimate ?? false,
        },
      });
      if (!turn) return;
      turn.isOver = true;
      if (running === entry.turnId) running = undefined;
      for (const toolCallId of turn.calls) {
        const { list, at } = places.get(toolCallId)!;
        const { call } = list.items[at] as Item & { is: "call" };
        // A sub-agent may work on after the turn that began it.
        const isStopped = call.state === "running" && list === main;
        if (isStopped) changeCall(toolCallId, { state: "unfinished", endedAt: entry.at });
        if (turn.lanes.has(toolCallId)) changeCall(toolCallId, {}, true);
      }
      for (const { itemId, turnId } of live.values()) if (turnId === entry.turnId) land(itemId);
    },
    request_raised(update) {
      openRequests++;
      raised.set(update.requestId, update);
    },
    request_settled({ requestId, outcome, answer, answers, reason }, entry) {
      const request = raised.get(requestId);
      if (request) openRequests--;
      if (answer === "always") rulesSeq = entry.seq;
      note(entry, {
        of: "request",
        requestId,
        outcome,
        answer,
        answers,
        reason,
        permission: request?.permission ?? undefined,
        question: request?.questions?.[0]?.question,
      });
    },
    rule_forgotten(update, entry) {
      rulesSeq = entry.seq;
      note(entry, { of: "entry", update });
    },
    shell_started({ shellId }, { seq }) {
      const output = live.get(shellId)?.text ?? "";
      const shell = { shellId, output, isOpen: true, exitCode: null, reason: null };
      shells.set(shellId, push(main, { is: "shell", key: `shell:${shellId}`, seq, shell }));
      live.delete(shellId);
    },
    shell({ shellId, output, exitCode, reason }, { seq }) {
      land(shellId);
      const shell = { shellId, output, isOpen: false, exitCode, reason };
      const place = shells.get(shellId);
      const item = { is: "shell", key: `shell:${shellId}`, shell } as const;
      if (place) replace(place, { ...item, seq: place.list.items[place.at]!.seq });
      else push(main, { ...item, seq });
      shells.delete(shellId);
    },
    session_status(update, entry) {
      if (update.status === "active") return;
      if (update.status === "detached" && update.reason === null) return;
      note(entry, { of: "entry", update });
      isEnded = update.status === "ended" || update.status === "cleanup_failed";
      if (!isEnded) return;
      for (const [toolCallId, { list, at }] of places) {
        const { call } = list.items[at] as Item & { is: "call" };
        if (call.state === "running")
          changeCall(toolCallId, { state: "unfinished", endedAt: entry.at });
      }
      waiting = [];
      running = undefined;
    },
    session_compacted(update, entry) {
      context = undefined;
      note(entry, { of: "entry", update });
    },
    session_reverted({ messageId }, { seq, at }) {
      plan = undefined;
      context = undefined;
      push(main, { is: "reverted", key: `reverted:${seq}`, seq, at, messageId });
    },
    unknown(update, entry) {
      note(entry, { of: "unknown", update });
    },
  };

  return {
    main,
    live: () => [...live.values()],
    add(entry) {
      if (first === 0) first = entry.seq;
      const { update, turnId } = entry;
      const cut = cutNote(update);
      // A turn whose beginning is not loaded runs until its end is read.
      const isOfTurn = turnId !== null && !update.sessionUpdate.startsWith("prompt_");
      if (isOfTurn && !turnOf(turnId)!.isOver) running = turnId;
      try {
        const { sessionUpdate: word } = update;
        const read = Object.hasOwn(readers, word)
          ? (readers[word as keyof typeof readers] as (update: SessionUpdate, entry: Entry) => void)
          : undefined;
        if (read) read(update as unknown as SessionUpdate, entry);
        else if (plainWords.has(word)) {
          note(entry, { of: "entry", update: update as unknown as SessionUpdate });
        } else note(entry, { of: "unknown", update });
      } catch {
        // An entry of another version, or one whose middle was cut out, must not take the transcript away.
        note(entry, { of: "unknown", update });
      }
      const queued = queueEntryOf(entry);
      if (queued) {
        waiting = waitingAfter(waiting, queued);
        queueEntries = [...queueEntries, queued];
      }
      if (cut) {
        const key = `cut:${entry.seq}`;
        push(main, { is: "note", key, seq: entry.seq, at: entry.at, note: cut });
      }
      last = entry;
    },
    addLive(piece) {
      const { itemId, turnId } = piece;
      const isLate = turnId !== null && turns.get(turnId)?.isOver;
      if (landed.has(itemId) || isLate) return;
      const place = shells.get(itemId);
      if (place) {
        const item = place.list.items[place.at] as Item & { is: "shell" };
        const next = addPiece(liveShell(item, piece), piece);
        replace(place, { ...item, shell: { ...item.shell, output: next.text } });
        return;
      }
      live.set(itemId, addPiece(live.get(itemId), piece));
    },
    state: () => ({
      lastSeq: last?.seq ?? 0,
      turn: running === undefined ? undefined : runningTurn(running, turns.get(running)!, places),
      waiting,
      queueEntries,
      hasPrompt: (messageId) => prompts.has(messageId),
      authors,
      openRequests,
      rulesSeq,
      shells: shells.size,
      usage,
      context,
      isEnded,
    }),
  };
}

/** Words without a reader of their own become one thin line each. */
const plainWords = new Set<string>([
  "turn_continued",
  "mode_changed",
  "fallback_taken",
  "session_shared",
  "account_used",
  "session_forked",
  "config_ignored",
  "config_trusted",
  "journal_reset",
] satisfies SessionUpdate["sessionUpdate"][]);

const liveShell = ({ shell }: Item & { is: "shell" }, piece: LivePiece): LiveItem => ({
  itemId: piece.itemId,
  turnId: piece.turnId,
  kind: piece.kind,
  text: shell.output,
  hasGap: false,
});

function unseenCall(toolCallId: string, { seq, at, turnId }: Entry): Call {
  return {
    toolCallId,
    kind: "think",
    title: words("lane.unseen"),
    rawInput: {},
    seq,
    at,
    turnId,
    state: "running",
    endedAt: undefined,
    exitCode: undefined,
    content: [],
    decided: undefined,
  };
}

function runningTurn(turnId: string, turn: Turn, places: ReadonlyMap<string, Place>): RunningTurn {
  const { startedAt, messageId, lanes } = turn;
  const isRunning = (toolCallId: string) => {
    const { list, at } = places.get(toolCallId)!;
    const { call, lane } = list.items[at] as Item & { is: "call" };
    const calls = lane!.items.flatMap((item) => (item.is === "call" ? [item.call] : []));
    return laneState(call, calls) === "running";
  };
  return {
    turnId,
    startedAt,
    messageId,
    lanes: { running: [...lanes].filter(isRunning).length, total: lanes.size },
  };
}

/** A note below an entry that was too large for the log. */
function cutNote(update: Entry["update"]): Note | undefined {
  const meta = update["_meta"] as Record<string, unknown> | undefined;
  const whole = meta?.["hawser/whole"] as { size?: number; omitted?: string } | undefined;
  if (typeof whole?.size !== "number") return undefined;
  return { of: "cut", word: update.sessionUpdate, size: whole.size, omitted: whole.omitted };
}
