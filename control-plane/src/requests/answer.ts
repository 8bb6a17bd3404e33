// Answering a request. Of concurrent answers, one is delivered to the host; `answered` means that the
// agent accepted it. An answer that did not arrive is stored, and never delivered later by itself.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  type AnswerOutcome,
  type AskedQuestion,
  type PermissionAnswer,
  type RequestRecord,
} from "@hawser/contract";
import { objectToAnswers, type PayloadOf } from "@hawser/host-protocol";
import { callerReference } from "../access/caller-reference.ts";
import { OutcomeUnknown, type AskContext, type ChangeContext } from "../dispatch/handler.ts";
import { notifyAfterCommit } from "../events/viewers.ts";
import { askHost, type HostTarget } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import type { SessionServices } from "../sessions/find-session.ts";
import { isOver } from "../sessions/lifecycle.ts";
import * as store from "./store.ts";

export interface GivenAnswer {
  requestId: string;
  type: RequestRecord["type"];
  answer: PermissionAnswer | null;
  answers: string[][] | null;
}

/** `settled`: decided without asking the host. */
export type AnswerIntent =
  | { settled: AnswerOutcome["status"] }
  | (HostTarget & { payload: PayloadOf<"answer_request"> });

/** What became of an answer. `isSilent`: the host did not confirm it, and may still receive it. */
interface Delivery extends AnswerOutcome {
  isSilent?: boolean;
}

export async function prepareAnswer(
  context: ChangeContext & SessionServices,
  given: GivenAnswer,
): Promise<AnswerIntent> {
  const { sql, caller } = context;
  const { requestId, answer, answers } = given;
  const id = parseId("request", requestId);
  const row = id && (await sql.first(store.selectRequest, sql.organizationId, id));
  if (!row) throw notFound("request");
  refuseUnfit(row, given);
  const kept = [answer, answers && JSON.stringify(answers), await callerReference(sql, caller)];
  const key = [sql.organizationId, id];
  if (isOver(row.session_status)) {
    if (row.status === "answered") return { settled: "already_resolved" };
    await sql.rows(store.recordLateAnswer, ...key, ...kept);
    notifyAfterCommit(context, { requests: [requestId] });
    return { settled: "undeliverable" };
  }
  if (!(await sql.first(store.claimRequest, ...key, ...kept)))
    return { settled: "already_resolved" };
  return {
    instanceId: formatId("instance", row.instance_id),
    isOnline: row.reachable,
    payload: {
      sessionId: formatId("session", row.session_id),
      requestId,
      shownHash: row.shown_hash,
      answer,
      answers,
      ownerId: ownerIdOf(caller),
    },
  };
}

function refuseUnfit(row: store.RequestRow, { type, answers }: GivenAnswer): void {
  if (row.type !== type) {
    throw new Refusal(
      "wrong_request_type",
      row.type === "question"
        ? "This request is a question. Answer it with answer_question."
        : "This request is a permission. Answer it with answer_permission.",
    );
  }
  const objection = answers && objectToAnswers(row.shown as AskedQuestion[], answers);
  if (!objection) return;
  throw new Refusal(
    "invalid_input",
    `The answer does not fit the question: answers ${objection}.`,
    {
      fields: [{ field: "answers", message: objection }],
    },
  );
}

export async function askWithAnswer(
  context: AskContext & SessionServices,
  intent: AnswerIntent,
): Promise<Delivery> {
  if ("settled" in intent) return { status: intent.settled };
  try {
    return await askHost(context, intent, "answer_request", intent.payload);
  } catch (error) {
    if (error instanceof OutcomeUnknown) return { status: "undeliverable", isSilent: true };
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "host_offline" || error.code === "unavailable")
      return { status: "undeliverable" };
    if (error.code === "account_not_yours") throw error;
    throw new Refusal("host_refused", error.message);
  }
}

export async function concludeAnswer(
  context: ChangeContext & SessionServices,
  { requestId, answer, answers }: GivenAnswer,
  intent: AnswerIntent,
  { status, isSilent = false }: Delivery,
): Promise<AnswerOutcome> {
  const { sql, caller } = context;
  if ("settled" in intent) return { status };
  const key = [sql.organizationId, parseId("request", requestId)!];
  notifyAfterCommit(context, { requests: [requestId] });
  switch (status) {
    case "answered": {
      const by = await callerReference(sql, caller);
      sql.later(store.noteAnswered, ...key, answer, answers && JSON.stringify(answers), by);
      return { status };
    }
    case "already_resolved":
      sql.later(store.releaseRequest, ...key);
      return { status };
    default: {
      if (await sql.first(store.noteUndeliverable, ...key, isSilent)) return { status };
      // The confirmation was lost, but the log has reported that this answer or another one was
      // accepted.
      const row = await sql.first(store.selectRequest, ...key);
      const isOurs = row?.status === "answered" && row.answered_by !== null;
      return { status: isOurs ? "answered" : "already_resolved" };
    }
  }
}

/** Releases the request: the host refused, so this was not an answer. */
export async function undoAnswer(
  { sql }: ChangeContext,
  { requestId }: { requestId: string },
  intent: AnswerIntent,
): Promise<void> {
  if ("settled" in intent) return;
  await sql.rows(store.releaseRequest, sql.organizationId, parseId("request", requestId)!);
}
