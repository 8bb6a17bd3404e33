// The end of a run of sessions: agents are killed a last time, with a command of each still running, and
// then everything is looked at: what sessions are said to be, and which processes are left.
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentKind } from "@hawser/contract";
import { isAgent, type AgentHost } from "@hawser/testkit/agent-host.ts";
import { killProcess } from "@hawser/testkit/processes.ts";
import { insist, resultOf, sendPrompt } from "./callers.ts";
import type { SessionsBed } from "./bed.ts";
import type { FinalSession, LeftProcess, SentPrompt } from "./history.ts";
import { longCommand, longTurn } from "./turns.ts";

export interface RunSession {
  sessionId: string;
  agentKind: AgentKind;
  host: AgentHost;
}

const longestWaitMs = 60_000;
const longestToNoticeMs = 30_000;
/** As long as a process of an agent may outlive its session. */
const longestLeftMs = 60_000;

/** Kills every agent while one session of each kind runs a command. */
export async function killWhileWorking(
  bed: SessionsBed,
  sessions: readonly RunSession[],
  broken: string[],
): Promise<SentPrompt[]> {
  const sent: SentPrompt[] = [];
  const places = bed.hosts.flatMap(({ host }) => bed.kinds.map((kind) => ({ host, kind })));
  for (const { host, kind } of places) {
    const session = sessions.find((each) => each.host === host && each.agentKind === kind);
    if (!session) continue;
    const { sessionId } = session;
    const running = () => host.processes().filter(({ command }) => command.includes(longCommand));
    const before = running().length;
    sent.push(await sendPrompt(bed, sessionId, `last-${sent.length + 1}`, longTurn(kind)));
    const deadline = Date.now() + longestWaitMs;
    while (running().length <= before && Date.now() < deadline) {
      await allow(bed, sessionId);
      await sleep(200);
    }
    if (running().length <= before) broken.push(`the last command of ${sessionId} never ran`);
  }
  for (const { host, kind } of places) for (const { pid } of host.agents(kind)) killProcess(pid);
  return sent;
}

/** Says yes to whatever a session's agent asks. */
async function allow(bed: SessionsBed, sessionId: string): Promise<void> {
  const answers = await insist(bed, { action: "list_pending_requests", input: { sessionId } });
  const requests: { requestId: string }[] = resultOf(answers)?.requests ?? [];
  for (const { requestId } of requests) {
    await insist(bed, { action: "answer_permission", input: { requestId, answer: "once" } });
  }
}

/** The sessions' records, after the service has had time to notice the agents' end. */
export async function lookAtSessions(
  bed: SessionsBed,
  sessions: readonly RunSession[],
): Promise<FinalSession[]> {
  const deadline = Date.now() + longestToNoticeMs;
  for (;;) {
    const found = await Promise.all(sessions.map((session) => lookAt(bed, session)));
    const isTrue = found.every(({ status, isAgentAlive }) => status !== "active" || isAgentAlive);
    if (isTrue || Date.now() > deadline) return found;
    await sleep(500);
  }
}

async function lookAt(bed: SessionsBed, session: RunSession): Promise<FinalSession> {
  const { sessionId, agentKind, host } = session;
  const answers = await insist(bed, { action: "get_session_summary", input: { sessionId } });
  const summary = resultOf(answers);
  // Claude Code runs a process only during a turn: an idle session has none.
  const needsNone = agentKind === "claude_code" && summary?.live?.status === "idle";
  return {
    sessionId,
    status: summary?.status ?? "unanswered",
    live: summary?.live?.status ?? null,
    isAgentAlive: needsNone || host.agents(agentKind).length > 0,
  };
}

/** Ends all sessions, and returns their processes that still run after the longest time allowed. */
export async function endSessions(
  bed: SessionsBed,
  sessions: readonly RunSession[],
  broken: string[],
): Promise<LeftProcess[]> {
  for (const { sessionId } of sessions) {
    const answers = await insist(bed, { action: "end_session", input: { sessionId } });
    const status = resultOf(answers)?.status as string | undefined;
    if (status !== "ended") broken.push(`${sessionId} is ${status} after it was ended`);
  }
  const started = Date.now();
  for (;;) {
    const left = bed.hosts.flatMap(({ host }) => leftOn(host, bed.kinds));
    const afterMs = Date.now() - started;
    if (left.length === 0 || afterMs > longestLeftMs) {
      return left.map(({ pid, command }) => ({ pid, command, afterMs }));
    }
    await sleep(500);
  }
}

/** A host may keep one process of a kind for later sessions. */
function leftOn(host: AgentHost, kinds: readonly AgentKind[]) {
  const processes = host.processes();
  const kept = kinds.map((kind) => processes.find((each) => isAgent(kind, each)));
  return processes.filter((each) => !kept.includes(each));
}
