// What ending a session does to its requests. Sessions call it through their services, because requests
// import sessions and not the other way round.
import { formatId } from "@hawser/contract";
import type { SessionRequests } from "../sessions/find-session.ts";
import { deleteRequestsOf, withdrawRequestsOf } from "./store.ts";

export const sessionRequests: SessionRequests = {
  async withdraw(sql, sessionIds) {
    const withdrawn = await sql.rows(withdrawRequestsOf, sql.organizationId, sessionIds);
    return withdrawn.map(({ request_id }) => formatId("request", request_id));
  },
  delete: (sql, sessionIds) => sql.later(deleteRequestsOf, sql.organizationId, sessionIds),
};
