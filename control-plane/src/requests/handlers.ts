// What the request actions do.
import type { AnswerOutcome, requestActions } from "@hawser/contract";
import { lastId, page, readIdCursor } from "../cursor.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { NotYet } from "../not-yet.ts";
import type { SessionServices } from "../sessions/find-session.ts";
import {
  askWithAnswer,
  concludeAnswer,
  prepareAnswer,
  undoAnswer,
  type AnswerIntent,
  type GivenAnswer,
} from "./answer.ts";
import { readRequests, requestRecord } from "./listing.ts";

export const requestHandlers: HandlersFor<typeof requestActions, SessionServices, NotYet> = {
  async list_pending_requests({ sql }, { limit = 50, ...filter }) {
    const rows = await readRequests(sql, filter, lastId, limit);
    return { requests: rows.map(requestRecord) };
  },

  async search_requests({ sql }, { cursor, limit = 50, ...filter }) {
    const read = await readRequests(sql, filter, readIdCursor(cursor), limit + 1);
    const { rows, nextCursor } = page(read, limit, (row) => [row.listed_id]);
    return { requests: rows.map(requestRecord), nextCursor };
  },

  answer_permission: {
    prepare: (context, input) => prepareAnswer(context, permissionAnswer(input)),
    ask: (context, _input, intent) => askWithAnswer(context, intent as AnswerIntent),
    conclude: (context, input, intent, outcome) =>
      concludeAnswer(
        context,
        permissionAnswer(input),
        intent as AnswerIntent,
        outcome as AnswerOutcome,
      ),
    undo: (context, input, intent) => undoAnswer(context, input, intent as AnswerIntent),
  },

  answer_question: {
    prepare: (context, input) => prepareAnswer(context, questionAnswer(input)),
    ask: (context, _input, intent) => askWithAnswer(context, intent as AnswerIntent),
    conclude: (context, input, intent, outcome) =>
      concludeAnswer(
        context,
        questionAnswer(input),
        intent as AnswerIntent,
        outcome as AnswerOutcome,
      ),
    undo: (context, input, intent) => undoAnswer(context, input, intent as AnswerIntent),
  },
};

function permissionAnswer({
  requestId,
  answer,
}: {
  requestId: string;
  answer: NonNullable<GivenAnswer["answer"]>;
}): GivenAnswer {
  return { requestId, type: "permission", answer, answers: null };
}

/** `reject` dismisses it, which the host is told in the word for a permission. */
function questionAnswer({
  requestId,
  answers,
}: {
  requestId: string;
  answers?: string[][] | undefined;
}): GivenAnswer {
  const type = "question";
  return answers
    ? { requestId, type, answer: null, answers }
    : { requestId, type, answer: "reject", answers: null };
}
