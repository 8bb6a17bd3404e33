// Turns what opencode says of one session, and of the sub-agents' sessions below it, into our events. It
// does nothing else: no requests, no clock. What opencode keeps (sync events) is told once, by number; what
// it only says live (text on its way, requests) is told as it comes.
import type { AgentEvent } from "../driver.ts";
import { askedOf } from "./asked.ts";
import { readCursor, type Cursor } from "./cursor.ts";
import type {
  AgentRequest,
  MessageData,
  Part,
  SessionData,
  StepFinishPart,
  SyncEvent,
  TextPart,
  ToolPart,
} from "./frames.ts";
import { callEnded, callStarted, textKindOf, textUpdate, usageEvent } from "./part-updates.ts";

type Tell = (event: AgentEvent) => void;

export interface Tracker {
  /** The sessions it follows: the root's and its sub-agents'. */
  has(sessionID: string): boolean;
  /** Where each of them was read to, as the history wants to be asked. */
  readTo(): Record<string, number>;
  /** `gap` when something before it is missing; it was not taken then. */
  take(event: SyncEvent, from: "stream" | "history"): "taken" | "gap";
  delta(partID: string, text: string): void;
  /** After a cut of the stream, text on its way has no known place. */
  forgetOffsets(): void;
  asked(request: AgentRequest): void;
  settled(requestID: string, reply: string | null): void;
  openRequests(): string[];
  /** An answer is on its way, so its end is no news; whether it was open. */
  close(requestID: string): boolean;
  reopen(requestID: string): void;
  /** The call a request is about, when it is one of the running turn's. */
  callOf(request: AgentRequest): ToolPart | undefined;
  /** Whether a tool runs; a sub-agent is no tool, its model is waited for like any other. */
  isCalling(): boolean;
  /** The next turn begins with this message; with the next one of a user when it is not known. */
  expect(messageID: string | undefined): void;
  /** The prompt was not taken. */
  forgetTurn(): void;
  turn(): Turn | undefined;
  /** We give this title ourselves, so it is no news. */
  renamed(title: string): void;
  endTurn(end: Omit<Extract<AgentEvent, { type: "turn_ended" }>, "type" | "cursor">): void;
}

export interface Turn {
  /** Whether opencode has the prompt. */
  hasBegun: boolean;
  /** The last message of the agent. */
  last: MessageData | undefined;
}

interface Followed {
  kind: "message" | "thought";
  messageID: string;
  /** How much was written; nothing when the beginning was missed. */
  offset: number | undefined;
}

const quiet = new Set(["step-start", "patch", "snapshot", "file", "compaction", "agent", "retry"]);

export function openTracker(
  root: {
    id: string;
    directory: string;
    title: string;
    cursor: string | null;
    openRequests: readonly string[];
  },
  tell: Tell,
): Tracker {
  const cursor: Cursor = readCursor(root.cursor);
  // Number 0 is that it was made, which we know.
  const read: Record<string, number> = { [root.id]: 0, ...cursor.from };
  const parents = new Map<string, string>();
  const roles = new Map<string, MessageData["role"]>();
  const texts = new Map<string, Followed>();
  const calls = new Map<string, ToolPart>();
  const toldStarts = new Set<string>();
  const toldEnds = new Set<string>();
  const open = new Set(root.openRequests);
  const held = new Map<string, AgentRequest[]>();
  /** Calls of a message whose text is not complete yet, by the message. */
  const early = new Map<string, ToolPart[]>();
  /** `undefined` stands for any, `null` for none. */
  let expected: string | null | undefined = cursor.turn;
  let turn: Turn | undefined =
    cursor.turn === null ? undefined : { hasBegun: false, last: undefined };
  let { title } = root;

  const has = (sessionID: string) => Object.hasOwn(read, sessionID);
  const mark = (): string => JSON.stringify(cursor);
  const callKey = (messageID: string, callID: string) => `${messageID} ${callID}`;

  function take(event: SyncEvent, from: "stream" | "history"): "taken" | "gap" {
    const { sessionID, seq } = event;
    if (!has(sessionID) && !adopt(event)) return "taken";
    const before = read[sessionID]!;
    if (seq <= before) return "taken";
    if (from === "stream" && seq > before + 1) return "gap";
    const isNews = seq > (cursor.told[sessionID] ?? -1);
    if (event.type.startsWith("message.updated.")) noteMessage(event);
    read[sessionID] = seq;
    const events = eventsOf(event, from);
    if (isNews) tellAll(sessionID, seq, events);
    releaseRequests();
    return "taken";
  }

  /** Each with a cursor that says how many of them are told, so that a kill in between repeats none. */
  function tellAll(sessionID: string, seq: number, events: AgentEvent[]): void {
    const toldBefore = cursor.part?.[sessionID] ?? 0;
    for (const [index, each] of events.entries()) {
      if (index < toldBefore) continue;
      cursor.part = { [sessionID]: index + 1 };
      if (index === events.length - 1) advance(sessionID, seq);
      tell({ ...each, cursor: mark() });
    }
    advance(sessionID, seq);
  }

  function advance(sessionID: string, seq: number): void {
    cursor.told[sessionID] = seq;
    delete cursor.part;
  }

  /** A request is told after the call it is about. */
  function releaseRequests(): void {
    for (const [callId, requests] of held) {
      if (!toldStarts.has(callId)) continue;
      held.delete(callId);
      for (const request of requests) tell(requestEvent(request, callOf(request)));
    }
  }

  /** A session below one of ours is ours, if the running turn made it. */
  function adopt({ type, id, sessionID, data }: SyncEvent): boolean {
    if (!type.startsWith("session.created.") || id < cursor.fromId) return false;
    const { parentID } = data["info"] as SessionData;
    if (parentID === undefined || !has(parentID)) return false;
    read[sessionID] = -1;
    return true;
  }

  function noteMessage({ id, seq, sessionID, data }: SyncEvent): void {
    const message = data["info"] as MessageData;
    const isNew = !roles.has(message.id);
    roles.set(message.id, message.role);
    if (sessionID !== root.id) return;
    if (message.role === "assistant") {
      if (turn?.hasBegun) turn.last = message;
      return;
    }
    const isExpected = expected === message.id || (expected === undefined && isNew);
    const isNews = seq > (cursor.told[sessionID] ?? -1);
    if (!isExpected || (expected === undefined && !isNews)) return;
    expected = null;
    turn = { hasBegun: true, last: undefined };
    cursor.turn = message.id;
    cursor.from = { ...read, [root.id]: seq - 1 };
    cursor.fromId = id;
  }

  function eventsOf({ type, sessionID, data }: SyncEvent, from: string): AgentEvent[] {
    const [name] = type.split(/\.\d+$/);
    if (name === "session.updated" && sessionID === root.id) {
      const { title: now } = data["info"] as SessionData;
      if (now === title) return [];
      title = now;
      return [{ type: "title", title }];
    }
    if (name === "message.updated") {
      const { id, time } = data["info"] as MessageData;
      return time.completed === undefined ? [] : earlyEvents(id, parents.get(sessionID) ?? null);
    }
    if (name !== "message.part.updated") return [];
    const part = data["part"] as Part;
    if (roles.get(part.messageID) === "user") return [];
    const parent = parents.get(sessionID) ?? null;
    switch (part.type) {
      case "text":
      case "reasoning":
        return textEvents(part as TextPart, parent, from);
      case "tool":
        noteCall(part as ToolPart);
        if (!isWriting(part.messageID)) return toolEvents(part as ToolPart, parent);
        early.set(part.messageID, [...(early.get(part.messageID) ?? []), part as ToolPart]);
        return [];
      case "step-finish":
        return usageEvents(part as StepFinishPart);
      default:
        if (quiet.has(part.type)) return [];
        return [{ type: "update", update: { sessionUpdate: "unknown", raw: part } }];
    }
  }

  function textEvents(part: TextPart, parentToolCallId: string | null, from: string): AgentEvent[] {
    if (part.synthetic || toldEnds.has(part.id)) return [];
    if (part.time?.end === undefined) {
      const offset = from === "stream" ? part.text.length : undefined;
      const { id, messageID } = part;
      if (!texts.has(id)) texts.set(id, { kind: textKindOf(part), offset, messageID });
      return [];
    }
    texts.delete(part.id);
    toldEnds.add(part.id);
    const calling = earlyEvents(part.messageID, parentToolCallId);
    if (part.text === "") return calling;
    const update = textUpdate(part, parentToolCallId);
    return [{ type: "update", update }, ...calling];
  }

  function noteCall(part: ToolPart): void {
    calls.set(callKey(part.messageID, part.callID), part);
    const child = part.state.metadata?.["sessionId"];
    if (typeof child === "string") parents.set(child, part.id);
  }

  const isWriting = (messageID: string) =>
    [...texts.values()].some((text) => text.messageID === messageID);

  /** Some models' text counts as complete only after the calls that follow it have begun. */
  function earlyEvents(messageID: string, parentToolCallId: string | null): AgentEvent[] {
    const parts = early.get(messageID) ?? [];
    early.delete(messageID);
    return parts.flatMap((part) => toolEvents(part, parentToolCallId));
  }

  function toolEvents(part: ToolPart, parentToolCallId: string | null): AgentEvent[] {
    const { status } = part.state;
    // Before it runs, its input is not known.
    if (status === "pending" || toldEnds.has(part.id)) return [];
    const updates = toldStarts.has(part.id) ? [] : [callStarted(part, parentToolCallId)];
    toldStarts.add(part.id);
    if (status !== "running") {
      toldEnds.add(part.id);
      updates.push(...callEnded(part, root));
    }
    return updates.map((update) => ({ type: "update", update }));
  }

  function usageEvents(part: StepFinishPart): AgentEvent[] {
    if (toldEnds.has(part.id)) return [];
    toldEnds.add(part.id);
    return [usageEvent(part)];
  }

  function callOf({ tool }: AgentRequest): ToolPart | undefined {
    return tool && calls.get(callKey(tool.messageID, tool.callID));
  }

  function requestEvent(request: AgentRequest, call: ToolPart | undefined): AgentEvent {
    open.add(request.id);
    const toolCallId = call?.id ?? null;
    const asked = askedOf(request, call, root.directory);
    return { type: "request", key: request.id, asked, toolCallId };
  }

  return {
    has,
    // The history takes no number below 0, and gives all of a session it is not told about.
    readTo: () => Object.fromEntries(Object.entries(read).filter(([, seq]) => seq >= 0)),
    take,
    callOf,
    isCalling: () =>
      [...calls.values()].some(({ tool, state }) => state.status === "running" && tool !== "task"),
    delta(partID, text) {
      const followed = texts.get(partID);
      if (followed?.offset === undefined) return;
      tell({ type: "text", itemId: partID, kind: followed.kind, offset: followed.offset, text });
      followed.offset += text.length;
    },
    forgetOffsets() {
      for (const followed of texts.values()) followed.offset = undefined;
    },
    asked(request) {
      if (open.has(request.id)) return;
      const call = callOf(request);
      if (!call) return tell(requestEvent(request, call));
      held.set(call.id, [...(held.get(call.id) ?? []), request]);
      releaseRequests();
    },
    settled(requestID, reply) {
      for (const [id, requests] of held) {
        held.set(
          id,
          requests.filter((request) => request.id !== requestID),
        );
      }
      if (!open.delete(requestID)) return;
      const answer = reply === "once" || reply === "always" || reply === "reject" ? reply : null;
      tell({ type: "request_gone", key: requestID, answer, reason: null });
    },
    openRequests: () => [...open],
    close: (requestID) => open.delete(requestID),
    reopen: (requestID) => void open.add(requestID),
    expect(messageID) {
      expected = messageID;
      turn = { hasBegun: false, last: undefined };
    },
    forgetTurn() {
      expected = null;
      turn = undefined;
    },
    turn: () => turn,
    renamed(given) {
      title = given;
    },
    endTurn({ outcome, reason }) {
      for (const messageID of early.keys()) {
        for (const each of earlyEvents(messageID, null)) tell({ ...each, cursor: mark() });
      }
      turn = undefined;
      expected = null;
      open.clear();
      held.clear();
      cursor.turn = null;
      cursor.from = { ...read };
      calls.clear();
      texts.clear();
      tell({ type: "turn_ended", outcome, reason, cursor: mark() });
    },
  };
}
