// The requests of one opencode session and its sub-agents. opencode asks about every call; the policy
// decides once about each, and people answer what the policy leaves to them. opencode may ask several times
// about one call, for instance about a command's directory first: the first decision counts for all.
import { denialText, type Decision } from "../../policy/call.ts";
import type { RequestAnswer, SessionSettings } from "../driver.ts";
import { ApiError, type Api } from "./api.ts";
import { translate, type Translated } from "./calls.ts";
import { asksAlways } from "./configuration.ts";
import type { Tracker } from "./events.ts";
import type { AgentRequest, PermissionRequest, QuestionRequest, ToolPart } from "./frames.ts";
import { sendReply } from "./reply.ts";
import type { ShellGate } from "./shell-gate.ts";

export interface Requests {
  onRequest(request: AgentRequest): void;
  /** A tool call has begun, or has ended. */
  onCall(part: ToolPart): void;
  /** opencode no longer waits for the request. */
  onSettled(requestID: string): void;
  onTurnEnd(): void;
  /**
   * Whether a call runs about which opencode has probably asked, although no request was received. Only for
   * the tools whose requests opencode may be unable to list.
   */
  areSomeUnknown(): boolean;
  /** Compares the open requests with those that opencode lists: reports new ones, closes missing ones. */
  compare(listed: AgentRequest[]): void;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
}

interface RequestOptions {
  api: Api;
  gate: ShellGate;
  settings: Pick<SessionSettings, "sessionId" | "directory" | "decide">;
  tracker: Tracker;
  /** Names of opencode's MCP servers. */
  servers: readonly string[];
  /** Reads the events that were missed. */
  catchUp(): Promise<void>;
}

/** A permission that opencode waits for. */
interface Waiting {
  request: PermissionRequest;
  /** What was decided about; undefined until then. */
  call?: Translated;
  /** Text of a refusal that is not sent yet. */
  denial?: string;
}

const rejected = "The user rejected this. Do not try it in another way; go on without it.";

/** How long a request waits for the events about its call. */
const inputMs = 3_000;
/** Calls that a model makes at the same time ask within this time. */
const togetherMs = 25;

/** opencode no longer waits for an answer. */
const isGone = (problem: unknown) => problem instanceof ApiError && problem.status === 404;

/** Tools whose optional values make opencode's list of requests fail if they are left out. */
const unlisted = new Set(["glob", "grep", "webfetch", "websearch", "codesearch"]);

/** undefined if opencode cannot list its requests: it fails if one was made without an optional value. */
export async function listRequests(
  api: Api,
  directory: string,
): Promise<AgentRequest[] | undefined> {
  try {
    const [permissions, questions] = (await Promise.all([
      api.request("GET", "/permission", { directory }),
      api.request("GET", "/question", { directory }),
    ])) as [PermissionRequest[], QuestionRequest[]];
    return [...permissions, ...questions];
  } catch (problem) {
    if (problem instanceof ApiError && problem.status === 400) return undefined;
    throw problem;
  }
}

export function createRequests(options: RequestOptions): Requests {
  const { api, gate, settings, tracker, servers } = options;
  const { sessionId, directory } = settings;
  const waiting = new Map<string, Waiting>();
  /** Every request that was received: one may arrive in the stream and in a list read meanwhile. */
  const received = new Set<string>();
  const questionCounts = new Map<string, number>();
  /** Decisions about calls, with the call as it was when it was decided about. */
  const decisions = new Map<string, { call: string; decision: Decision }>();
  /** Running calls without a request. */
  const unknown = new Set<string>();

  const reply = (key: string, answer: RequestAnswer, message: string) =>
    sendReply(api, { key, directory, answer, message, questions: questionCounts.get(key) ?? 1 });

  function onRequest(request: AgentRequest): void {
    if (received.has(request.id)) return;
    received.add(request.id);
    if ("questions" in request) return onQuestion(request);
    const each: Waiting = { request };
    waiting.set(request.id, each);
    unknown.delete(tracker.callOf(request)?.id ?? "");
    if (!request.tool || runningCall(request)) return consider(each);
    // The call's input arrives in another event. Without it the call counts as unknown.
    const isUndecided = () => waiting.get(request.id) === each && !each.call;
    setTimeout(() => {
      const giveUp = () => isUndecided() && consider(each);
      if (isUndecided()) options.catchUp().then(giveUp, giveUp);
    }, inputMs).unref();
  }

  function onQuestion(request: QuestionRequest): void {
    questionCounts.set(request.id, request.questions.length);
    const callId = tracker.callOf(request)?.id ?? null;
    const decision = settings.decide({ callId, type: "question" });
    if (decision.answer === "ask") return tracker.addRequest(request, decision.rule);
    const answers = request.questions.map(() => [denialText(decision)]);
    reply(request.id, { answers }, "").catch(unlessGone(request, decision));
  }

  function runningCall(request: PermissionRequest): ToolPart | undefined {
    const part = tracker.callOf(request);
    return part?.state.status === "running" ? part : undefined;
  }

  function consider(each: Waiting): void {
    const { request } = each;
    const root = tracker.rootOf(request);
    const call = translate(request, runningCall(request), { directory, root, servers });
    each.call = call;
    if (call.type === "agent") void concludeAgent(each, call);
    else conclude(each, call);
  }

  async function concludeAgent(
    each: Waiting,
    call: Extract<Translated, { type: "agent" }>,
  ): Promise<void> {
    const hasOwn = await hasOwnPermissions(call.name);
    if (waiting.get(each.request.id) !== each) return;
    conclude(each, hasOwn ? { ...call, hasOwnPermissions: true } : call);
  }

  /** Whether opencode would let a sub-agent work without asking, by settings of the host's user. */
  async function hasOwnPermissions(name: string): Promise<boolean> {
    type Agent = { name: string; permission: Parameters<typeof asksAlways>[0] };
    try {
      const agents = (await api.request("GET", "/agent", { directory })) as Agent[];
      const found = agents.find((agent) => agent.name === name);
      return found !== undefined && !asksAlways(found.permission);
    } catch {
      return true;
    }
  }

  function conclude(each: Waiting, call: Translated): void {
    const { request } = each;
    const decision = decideOnce(request, call);
    if (decision.answer === "allow") return allow(each, decision);
    if (decision.answer === "ask") return tracker.addRequest(request, decision.rule);
    each.denial = denialText(decision);
    setTimeout(() => sendDenials(request.sessionID), togetherMs);
  }

  function decideOnce(request: PermissionRequest, call: Translated): Decision {
    const callId = tracker.callOf(request)?.id ?? null;
    const text = JSON.stringify(call);
    const known = decisions.get(callId ?? request.id);
    if (known?.call === text) return known.decision;
    const isPlanning = tracker.turn()?.agent === "plan";
    const decision = settings.decide({ callId, isPlanning, ...call });
    decisions.set(callId ?? request.id, { call: text, decision });
    return decision;
  }

  function allow(each: Waiting, decision: Decision): void {
    const send = async () => {
      makePass(each);
      await reply(each.request.id, { permission: "once" }, "");
    };
    send()
      .catch(unlessGone(each.request, decision))
      .finally(() => onSettled(each.request.id));
  }

  /** Lets a command pass the gate. Called before opencode receives the permission. */
  function makePass({ request, call }: Waiting): void {
    const part = tracker.callOf(request);
    if (call?.type === "execute" && part)
      gate.addPass(sessionId, part.id, call.cwd ?? directory, call.command);
  }

  /** A person is asked if the policy's answer could not be delivered. */
  const unlessGone =
    (request: AgentRequest, { rule }: Decision) =>
    (problem: unknown) => {
      if (!isGone(problem)) tracker.addRequest(request, rule);
    };

  /**
   * opencode answers a refusal by refusing all requests of the same session that wait at that moment. So a
   * refusal waits until the calls beside it have their answers.
   */
  function sendDenials(sessionID: string): void {
    const together = [...waiting.values()].filter((each) => each.request.sessionID === sessionID);
    const [first] = together;
    if (!first || together.some(({ denial }) => denial === undefined)) return;
    const { request, denial } = first;
    waiting.delete(request.id);
    reply(request.id, { permission: "reject" }, denial!)
      .catch((problem: unknown) => {
        if (!isGone(problem)) tracker.addRequest(request, denial!);
      })
      .finally(() => sendDenials(sessionID));
  }

  function onSettled(requestID: string): void {
    const settled = waiting.get(requestID);
    if (!settled) return;
    waiting.delete(requestID);
    sendDenials(settled.request.sessionID);
  }

  return {
    onRequest,
    onSettled,
    onCall(part) {
      const { status } = part.state;
      const own = [...waiting.values()].filter(
        ({ request }) => tracker.callOf(request)?.id === part.id,
      );
      if (status === "running") {
        const isUnknown = unlisted.has(part.tool) && own.length === 0 && !decisions.has(part.id);
        if (isUnknown) unknown.add(part.id);
        for (const each of own) if (!each.call) consider(each);
      } else if (status !== "pending") {
        for (const { request } of own) onSettled(request.id);
        decisions.delete(part.id);
        unknown.delete(part.id);
        if (part.tool === "bash") gate.removePass(part.id);
      }
    },
    onTurnEnd() {
      waiting.clear();
      decisions.clear();
      unknown.clear();
    },
    areSomeUnknown: () => unknown.size > 0 && tracker.openRequests().length === 0,
    compare(listed) {
      // opencode keeps listing the requests of aborted turns.
      const open = tracker.openRequests();
      const isLive = (request: AgentRequest) => {
        const status = tracker.callOf(request)?.state.status;
        return status === "running" || status === "pending" || open.includes(request.id);
      };
      const live = listed.filter((request) => tracker.has(request.sessionID) && isLive(request));
      for (const key of open) {
        if (!live.some((request) => request.id === key)) tracker.settleRequest(key, null);
      }
      for (const request of live) onRequest(request);
      unknown.clear();
    },
    async answer(key, answer) {
      if (!tracker.closeRequest(key)) return "gone";
      const each = waiting.get(key);
      const isAllowed = "permission" in answer && answer.permission === "once";
      try {
        if (each && isAllowed) {
          const known = decisions.get(tracker.callOf(each.request)?.id ?? key);
          if (known) known.decision = { answer: "allow", rule: "a person allowed the call" };
          makePass(each);
        }
        await reply(key, answer, rejected);
        onSettled(key);
        return "accepted";
      } catch (problem) {
        if (isGone(problem)) return "gone";
        tracker.reopenRequest(key);
        throw problem;
      }
    },
  };
}
