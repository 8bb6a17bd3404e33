// What the request actions do.
import { notFound, parseId, type requestActions } from "@hawser/contract";
import { lastId, page, readIdCursor } from "../cursor.ts";
import { onHost, type HandlersFor } from "../dispatch/handler.ts";
import type { SessionServices } from "../sessions/find-session.ts";
import {
  askWithAnswer,
  concludeAnswer,
  prepareAnswer,
  undoAnswer,
  type GivenAnswer,
} from "./answer.ts";
import { readRequests, requestRecord, searchRequests } from "./listing.ts";
import { selectRequest } from "./store.ts";

export const requestHandlers: HandlersFor<typeof requestActions, SessionServices> = {
  async list_pending_requests({ sql }, { limit = 50, ...filter }) {
    const rows = await readRequests(sql, filter, lastId, limit);
    return { requests: rows.map(requestRecord) };
  },

  async search_requests({ sql }, { query: text = "", cursor, limit = 50, ...filter }) {
    const before = readIdCursor(cursor);
    const { rows, nextCursor } =
      text === ""
        ? page(await readRequests(sql, filter, before, limit + 1), limit, (row) => [row.listed_id])
        : await searchRequests(sql, text, filter, before, limit);
    return { requests: rows.map(requestRecord), nextCursor };
  },

  async get_request({ sql }, { requestId }) {
    const id = parseId("request", requestId);
    const row = id && (await sql.first(selectRequest, sql.organizationId, id));
    if (!row) throw notFound("request");
    return requestRecord(row);
  },

  answer_permission: onHost({
    prepare: (context, input) => prepareAnswer(context, permissionAnswer(input)),
    ask: (context, _input, intent) => askWithAnswer(context, intent),
    conclude: (context, input, intent, outcome) =>
      concludeAnswer(context, permissionAnswer(input), intent, outcome),
    undo: undoAnswer,
  }),

  answer_question: onHost({
    prepare: (context, input) => prepareAnswer(context, questionAnswer(input)),
    ask: (context, _input, intent) => askWithAnswer(context, intent),
    conclude: (context, input, intent, outcome) =>
      concludeAnswer(context, questionAnswer(input), intent, outcome),
    undo: undoAnswer,
  }),
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

/** Without answers the question is dismissed, which the host receives as `reject`, as for a permission. */
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
