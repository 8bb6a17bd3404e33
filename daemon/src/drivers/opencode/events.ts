// Translates opencode's events of one session, and of its sub-agents' sessions, into AgentEvents. The
// tracker sends no requests and reads no clock. Events that opencode stores (sync events) have a number and
// are reported once. Events that opencode only streams (partial text, requests) are reported as they
// arrive.
import type { AgentEvent, TurnEnd } from "../driver.ts";
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

export interface Tracker {
  /** Whether a session is the root or one of its sub-agents. */
  has(sessionID: string): boolean;
  /** Number of the last event read, by session, in the format of opencode's history. */
  readTo(): Record<string, number>;
  /** Returns `gap`, and ignores the event, if an event before it is missing. */
  apply(event: SyncEvent, from: "stream" | "history"): "applied" | "gap";
  appendText(partID: string, text: string): void;
  /** After a gap in the stream, the offset of further text is unknown until the part is complete. */
  forgetOffsets(): void;
  /** Reports a request to people; `rule` says why. */
  addRequest(request: AgentRequest, rule: string): void;
  /** opencode no longer waits for the request. */
  settleRequest(requestID: string, reply: string | null): void;
  openRequests(): string[];
  /** Closes a request that is being answered, without reporting it. Returns whether it was open. */
  closeRequest(requestID: string): boolean;
  reopenRequest(requestID: string): void;
  /** The tool call that caused the request; undefined if the running turn has no such call. */
  callOf(request: AgentRequest): ToolPart | undefined;
  /** Root of the repository that the request's call works in; `/` if its message is unknown. */
  rootOf(request: AgentRequest): string;
  /** Whether a tool runs. Sub-agents do not count: their models must answer in time too. */
  isCalling(): boolean;
  expectTurn(message: ExpectedMessage): void;
  /** opencode did not accept the prompt. */
  forgetTurn(): void;
  turn(): Turn | undefined;
  /** Sets a title that we chose, so that it is not reported. */
  setTitle(title: string): void;
  endTurn(end: TurnEnd): void;
}

/** The user message that starts the next turn, by its id, or the next new one. */
type ExpectedMessage = ((messageID: string) => boolean) | "any";

export interface Turn {
  /** Whether opencode has accepted the prompt. */
  hasBegun: boolean;
  /** The last message of the agent. */
  last: MessageData | undefined;
  /** Mode or sub-agent that the prompt named; undefined until the turn has begun. */
  agent: string | undefined;
}

interface OpenText {
  kind: "message" | "thought";
  messageID: string;
  /** Characters received so far; undefined if the beginning was missed. */
  offset: number | undefined;
}

/** Types of parts that sessions do not show. */
const ignoredParts = new Set([
  "step-start",
  "patch",
  "snapshot",
  "file",
  "compaction",
  "agent",
  "retry",
]);

export function createTracker(
  root: {
    id: string;
    directory: string;
    title: string;
    cursor: string | null;
    openRequests: readonly string[];
    /** The size of a model's context; undefined if it is not known. */
    windowOf?: (providerId: string, modelId: string) => number | undefined;
  },
  report: (event: AgentEvent) => void,
): Tracker {
  const cursor: Cursor = readCursor(root.cursor);
  // Number 0 is the creation of the session.
  const read: Record<string, number> = { [root.id]: 0, ...cursor.from };
  const parents = new Map<string, string>();
  const messages = new Map<string, MessageData>();
  /** Messages of the agent in the running turn. Those of an aborted turn can change after the next one began. */
  const ofTurn = new Set<string>();
  const texts = new Map<string, OpenText>();
  const calls = new Map<string, ToolPart>();
  const reportedStarts = new Set<string>();
  const reportedEnds = new Set<string>();
  const open = new Set(root.openRequests);
  /** Requests whose tool call is not reported yet, by call. */
  const heldRequests = new Map<string, { request: AgentRequest; rule: string }[]>();
  /** Tool calls whose message still has incomplete text, by message. */
  const heldCalls = new Map<string, ToolPart[]>();
  const { turn: resumed } = cursor;
  let expected: ExpectedMessage | null = resumed === null ? null : (id) => id === resumed;
  let turn: Turn | undefined =
    resumed === null ? undefined : { hasBegun: false, last: undefined, agent: undefined };
  let { title } = root;

  const has = (sessionID: string) => Object.hasOwn(read, sessionID);
  const cursorNow = (): string => JSON.stringify(cursor);
  const callKey = (messageID: string, callID: string) => `${messageID} ${callID}`;

  function apply(event: SyncEvent, from: "stream" | "history"): "applied" | "gap" {
    const { sessionID, seq } = event;
    if (!has(sessionID) && !adopt(event)) return "applied";
    const before = read[sessionID]!;
    if (seq <= before) return "applied";
    if (from === "stream" && seq > before + 1) return "gap";
    const isNew = seq > (cursor.told[sessionID] ?? -1);
    if (event.type.startsWith("message.updated.")) noteMessage(event);
    read[sessionID] = seq;
    const events = eventsOf(event, from);
    if (isNew) reportAll(sessionID, seq, events);
    releaseRequests();
    return "applied";
  }

  /** The cursor of each event counts those reported, so that no event repeats if the daemon is killed. */
  function reportAll(sessionID: string, seq: number, events: AgentEvent[]): void {
    const reportedBefore = cursor.part?.[sessionID] ?? 0;
    for (const [index, each] of events.entries()) {
      if (index < reportedBefore) continue;
      cursor.part = { [sessionID]: index + 1 };
      if (index === events.length - 1) advance(sessionID, seq);
      report({ ...each, cursor: cursorNow() });
    }
    advance(sessionID, seq);
  }

  function advance(sessionID: string, seq: number): void {
    cursor.told[sessionID] = seq;
    delete cursor.part;
  }

  /** A request is reported after the tool call that caused it. */
  function releaseRequests(): void {
    for (const [callId, requests] of heldRequests) {
      if (!reportedStarts.has(callId)) continue;
      heldRequests.delete(callId);
      for (const { request, rule } of requests) report(requestEvent(request, rule));
    }
  }

  /** Follows a sub-agent's session if the running turn created it. */
  function adopt({ type, id, sessionID, data }: SyncEvent): boolean {
    if (!type.startsWith("session.created.") || id < cursor.fromId) return false;
    const { parentID } = data["info"] as SessionData;
    if (parentID === undefined || !has(parentID)) return false;
    read[sessionID] = -1;
    return true;
  }

  function noteMessage({ id, seq, sessionID, data }: SyncEvent): void {
    const message = data["info"] as MessageData;
    const isFirst = !messages.has(message.id);
    messages.set(message.id, message);
    if (sessionID !== root.id) return;
    if (message.role === "assistant") {
      if (!turn?.hasBegun) return;
      if (isFirst) ofTurn.add(message.id);
      if (ofTurn.has(message.id)) turn.last = message;
      return;
    }
    const isNew = isFirst && seq > (cursor.told[sessionID] ?? -1);
    if (expected === null || !(expected === "any" ? isNew : expected(message.id))) return;
    expected = null;
    ofTurn.clear();
    turn = { hasBegun: true, last: undefined, agent: message.agent };
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
      return time.completed === undefined ? [] : heldCallEvents(id, parents.get(sessionID) ?? null);
    }
    if (name !== "message.part.updated") return [];
    const part = data["part"] as Part;
    if (messages.get(part.messageID)?.role === "user") return [];
    const parent = parents.get(sessionID) ?? null;
    switch (part.type) {
      case "text":
      case "reasoning":
        return textEvents(part as TextPart, parent, from);
      case "tool":
        noteCall(part as ToolPart);
        if (!isWriting(part.messageID)) return toolEvents(part as ToolPart, parent);
        heldCalls.set(part.messageID, [...(heldCalls.get(part.messageID) ?? []), part as ToolPart]);
        return [];
      case "step-finish":
        return usageEvents(part as StepFinishPart);
      default:
        if (ignoredParts.has(part.type)) return [];
        return [{ type: "update", update: { sessionUpdate: "unknown", raw: part } }];
    }
  }

  function textEvents(part: TextPart, parentToolCallId: string | null, from: string): AgentEvent[] {
    if (part.synthetic || reportedEnds.has(part.id)) return [];
    if (part.time?.end === undefined) {
      const offset = from === "stream" ? part.text.length : undefined;
      const { id, messageID } = part;
      if (!texts.has(id)) texts.set(id, { kind: textKindOf(part), offset, messageID });
      return [];
    }
    texts.delete(part.id);
    reportedEnds.add(part.id);
    const calling = heldCallEvents(part.messageID, parentToolCallId);
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

  /** Calls are held back until the text before them is complete: some models complete it afterwards. */
  function heldCallEvents(messageID: string, parentToolCallId: string | null): AgentEvent[] {
    const parts = heldCalls.get(messageID) ?? [];
    heldCalls.delete(messageID);
    return parts.flatMap((part) => toolEvents(part, parentToolCallId));
  }

  function toolEvents(part: ToolPart, parentToolCallId: string | null): AgentEvent[] {
    const { status } = part.state;
    // The input of a pending call is incomplete.
    if (status === "pending" || reportedEnds.has(part.id)) return [];
    const updates = reportedStarts.has(part.id) ? [] : [callStarted(part, parentToolCallId)];
    reportedStarts.add(part.id);
    if (status !== "running") {
      reportedEnds.add(part.id);
      updates.push(...callEnded(part, root));
    }
    return updates.map((update) => ({ type: "update", update }));
  }

  function usageEvents(part: StepFinishPart): AgentEvent[] {
    if (reportedEnds.has(part.id)) return [];
    reportedEnds.add(part.id);
    const message = part.sessionID === root.id ? messages.get(part.messageID) : undefined;
    const { providerID, modelID } = message ?? {};
    const isKnown = providerID !== undefined && modelID !== undefined;
    return [usageEvent(part, isKnown ? root.windowOf?.(providerID, modelID) : undefined)];
  }

  function callOf({ tool }: AgentRequest): ToolPart | undefined {
    return tool && calls.get(callKey(tool.messageID, tool.callID));
  }

  const rootOf = ({ tool }: AgentRequest): string =>
    (tool && messages.get(tool.messageID)?.path?.root) ?? "/";

  function requestEvent(request: AgentRequest, rule: string): AgentEvent {
    open.add(request.id);
    const call = callOf(request);
    const toolCallId = call?.id ?? null;
    const asked = askedOf(request, call, { directory: root.directory, root: rootOf(request) });
    return { type: "request", key: request.id, asked, toolCallId, rule };
  }

  return {
    has,
    // The history refuses numbers below 0, and returns all events of a session without a number.
    readTo: () => Object.fromEntries(Object.entries(read).filter(([, seq]) => seq >= 0)),
    apply,
    callOf,
    rootOf,
    isCalling: () =>
      [...calls.values()].some(({ tool, state }) => state.status === "running" && tool !== "task"),
    appendText(partID, text) {
      const known = texts.get(partID);
      if (known?.offset === undefined) return;
      report({ type: "text", itemId: partID, kind: known.kind, offset: known.offset, text });
      known.offset += text.length;
    },
    forgetOffsets() {
      for (const text of texts.values()) text.offset = undefined;
    },
    addRequest(request, rule) {
      if (open.has(request.id)) return;
      const call = callOf(request);
      if (!call) return report(requestEvent(request, rule));
      heldRequests.set(call.id, [...(heldRequests.get(call.id) ?? []), { request, rule }]);
      releaseRequests();
    },
    settleRequest(requestID, reply) {
      for (const [id, requests] of heldRequests) {
        heldRequests.set(
          id,
          requests.filter(({ request }) => request.id !== requestID),
        );
      }
      if (!open.delete(requestID)) return;
      const answer = reply === "once" || reply === "always" || reply === "reject" ? reply : null;
      report({ type: "request_gone", key: requestID, answer, reason: null });
    },
    openRequests: () => [...open],
    closeRequest: (requestID) => open.delete(requestID),
    reopenRequest: (requestID) => void open.add(requestID),
    expectTurn(message) {
      expected = message;
      turn = { hasBegun: false, last: undefined, agent: undefined };
    },
    forgetTurn() {
      expected = null;
      turn = undefined;
      if (cursor.turn === null) return;
      cursor.turn = null;
      report({ type: "cursor_moved", cursor: cursorNow() });
    },
    turn: () => turn,
    setTitle(next) {
      title = next;
    },
    endTurn(end) {
      for (const messageID of heldCalls.keys()) {
        for (const each of heldCallEvents(messageID, null))
          report({ ...each, cursor: cursorNow() });
      }
      turn = undefined;
      expected = null;
      open.clear();
      heldRequests.clear();
      cursor.turn = null;
      cursor.from = { ...read };
      calls.clear();
      texts.clear();
      report({ type: "turn_ended", ...end, cursor: cursorNow() });
    },
  };
}
