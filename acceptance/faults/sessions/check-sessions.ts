// Whether everything that a run of sessions left behind can be true of a product that keeps its word.
// Pure: it reads only the history, and knows nothing of the faults.
import type { Entry } from "../history.ts";
import { violation, type Violation } from "../violation.ts";
import { checkJournal, checkViewer } from "./check-logs.ts";
import {
  acceptedTurn,
  endOfPrompt,
  type JournalLog,
  type SentPrompt,
  type SessionsHistory,
} from "./history.ts";

/** From the end of a turn on the host until a viewer sees it, if no notice was sent. */
const longestUnnoticedMs = 6_000;

export function checkSessions(history: SessionsHistory): Violation[] {
  const journals = new Map(history.journals.map((log) => [log.sessionId, log]));
  return [
    ...history.journals.flatMap(checkJournal),
    ...history.journals.flatMap(checkTurns),
    ...history.viewers.flatMap((log) =>
      checkViewer(log, journals.get(log.sessionId)?.entries ?? []),
    ),
    ...history.prompts.flatMap((prompt) =>
      checkPrompt(prompt, journals.get(prompt.sessionId), history.starts.get(prompt.name) ?? 0),
    ),
    ...checkUnnoticed(history),
    ...checkEnd(history),
    ...history.broken.map((line) => violation("not in time", line)),
  ];
}

/** Every turn that began has ended. */
function checkTurns({ sessionId, entries }: JournalLog): Violation[] {
  const ended = new Set(entries.filter(is("turn_finished")).map(({ turnId }) => turnId));
  return entries
    .filter(is("turn_started"))
    .filter(({ turnId }) => !ended.has(turnId))
    .map((entry) => violation("a turn never finished", sessionId, entry));
}

/** Started at most once, and when it was accepted, with an end that everyone can see. */
function checkPrompt(
  prompt: SentPrompt,
  journal: JournalLog | undefined,
  starts: number,
): Violation[] {
  const found: Violation[] = [];
  const { name, sessionId, answers } = prompt;
  const about = {
    name,
    sessionId,
    starts,
    answers: answers.map(({ status, code }) => `${status} ${code}`),
  };
  const say = (rule: string, ...more: unknown[]) => found.push(violation(rule, about, ...more));
  const end = endOfPrompt(prompt);
  const turns = new Set(answers.map(acceptedTurn).filter((turnId) => turnId !== undefined));
  if (starts > 1) say("a prompt was started twice");
  if (turns.size > 1) say("a prompt was accepted twice", [...turns]);
  if (end === "unknown") say("a prompt was not answered after the faults were over");
  if (end === "refused" && starts > 0) say("a prompt was refused and yet started");
  const entries = journal?.entries ?? [];
  for (const turnId of turns) {
    const outcome = outcomeOf(entries, turnId);
    if (!outcome) say("an accepted prompt has no outcome", turnId);
    if (outcome === "completed" && starts === 0) {
      say("a turn is called completed that no agent ran", turnId);
    }
  }
  return found;
}

function outcomeOf(entries: readonly Entry[], turnId: string): string | undefined {
  for (const { turnId: of, update } of entries) {
    if (update["sessionUpdate"] === "turn_finished" && of === turnId) {
      return String(update["outcome"]);
    }
    if (update["sessionUpdate"] === "prompt_dropped" && update["turnId"] === turnId) {
      return "dropped";
    }
  }
  return undefined;
}

/** The end of a turn comes to every viewer of its session, also without the notice of it. */
function checkUnnoticed({ unnoticed, viewers, journals }: SessionsHistory): Violation[] {
  return unnoticed.flatMap(({ sessionId, turnId }) => {
    const journal = journals.find((log) => log.sessionId === sessionId);
    const end = journal?.entries.find(
      (entry) => is("turn_finished")(entry) && entry.turnId === turnId,
    );
    if (!end) return [violation("an unnoticed turn has no end", sessionId, turnId)];
    const endedAt = Date.parse(end.at);
    return viewers
      .filter((log) => log.sessionId === sessionId)
      .flatMap(({ viewer, seen }) => {
        const seenAt = seen.find(({ seq }) => seq === end.seq)?.seenAt ?? Infinity;
        if (seenAt - endedAt <= longestUnnoticedMs) return [];
        const late = `seen ${seenAt - endedAt} ms after it, at most ${longestUnnoticedMs} allowed`;
        return [violation("a viewer saw the end of a turn too late", viewer, turnId, late)];
      });
  });
}

function checkEnd({ sessions, processes }: SessionsHistory): Violation[] {
  return [
    ...sessions
      .filter(({ status, isAgentAlive }) => status === "active" && !isAgentAlive)
      .map((session) => violation("a session is active with a dead agent", session)),
    ...processes.map((each) => violation("a process was left", each)),
  ];
}

const is = (name: string) => (entry: Entry) => entry.update["sessionUpdate"] === name;
