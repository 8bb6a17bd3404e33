// Whether answers to what agents asked were delivered as promised: each request accepted at most once, one
// caller answered so, and no request shown open that no agent waits for. Pure, as the other checkers.
import { violation, type Violation } from "../violation.ts";
import { checkJournal } from "./check-logs.ts";
import type { JournalLog } from "./history.ts";

export interface GivenAnswer {
  /** Which of the nodes it went to. */
  node: string;
  answer: "once" | "reject";
  /** answered, already_resolved, undeliverable, or the code of a refusal; undefined if no answer arrived. */
  told: string | undefined;
  tookMs: number;
}

/** One request of an agent's, as everybody saw it. */
export interface Approval {
  /** Of the prompt that made the agent ask. */
  name: string;
  sessionId: string;
  /** The requests that the service has for it; one, if all went well. */
  records: { requestId: string; status: string; answerable: boolean }[];
  answers: GivenAnswer[];
  /** How often the agent did what it had asked for. */
  effects: number;
  /** How often the agent went on to the model with an answer to its request. */
  continued: number;
  /** Whether it still waits for an answer. */
  isWaiting: boolean;
}

export interface ApprovalsHistory {
  approvals: Approval[];
  journals: JournalLog[];
  broken: string[];
}

const harmless = new Set(["answered", "already_resolved", "undeliverable"]);

export function checkApprovals({ approvals, journals, broken }: ApprovalsHistory): Violation[] {
  return [
    ...approvals.flatMap(checkApproval),
    ...journals.flatMap(checkJournal),
    ...journals.flatMap(checkSettled),
    ...broken.map((line) => violation("not in time", line)),
  ];
}

function checkApproval(approval: Approval): Violation[] {
  const { records, answers, effects, continued, isWaiting } = approval;
  const found: Violation[] = [];
  const say = (rule: string) => found.push(violation(rule, approval));
  const winners = answers.filter(({ told }) => told === "answered");
  const isAccepted = effects > 0 || continued > 0;
  if (effects > 1 || continued > 1) say("an answer was accepted twice");
  if (winners.length > 1) say("two answers to one request were confirmed");
  if (winners.length > 0 && !isAccepted) say("an answer was confirmed and never accepted");
  if (winners.length === 1 && isAccepted) {
    const wanted = winners[0]!.answer === "once";
    if (wanted !== effects > 0) say("the agent did other than was answered");
  }
  if (answers.every(({ answer }) => answer === "reject") && effects > 0) {
    say("the agent did what nobody allowed");
  }
  if (answers.some(({ told }) => told === undefined)) say("an answer was never answered by a node");
  if (answers.some(({ told }) => told !== undefined && !harmless.has(told))) {
    say("an answer was refused");
  }
  if (records.length !== 1) say("a request is not there once");
  for (const { status, answerable } of records) {
    const isOpen = status === "pending" || answerable;
    if (isOpen && !isWaiting) say("a request is shown open that nobody waits for");
    if (!isOpen && isWaiting) say("a request is shown settled that the agent waits for");
  }
  return found;
}

/** What was raised and settled in the log fits together. */
function checkSettled({ sessionId, entries }: JournalLog): Violation[] {
  const raised = new Set<unknown>();
  return entries.flatMap((entry) => {
    const { sessionUpdate, requestId } = entry.update;
    if (sessionUpdate === "request_raised") raised.add(requestId);
    if (sessionUpdate !== "request_settled" || raised.has(requestId)) return [];
    return [violation("a request was settled that was never raised", sessionId, entry)];
  });
}
