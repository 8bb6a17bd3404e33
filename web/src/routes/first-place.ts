// Where a person begins: at what waits for an answer, else in the last session, else at the start.
import { call } from "../calls/call.ts";

type Place =
  | { to: "/start" | "/inbox" | "/sessions" }
  | { to: "/sessions/$sessionId"; params: { sessionId: string } };

/** /inbox if the service does not answer: that page shows why. */
export async function firstPlace(): Promise<Place> {
  try {
    const [{ requests }, { sessions }, { permissions }] = await Promise.all([
      call("search_requests", { scope: "pending", limit: 200 }),
      call("search_sessions", { limit: 1 }),
      call("whoami", {}),
    ]);
    if (requests.some(({ answerable }) => answerable)) return { to: "/inbox" };
    const [last] = sessions;
    if (last) return { to: "/sessions/$sessionId", params: { sessionId: last.sessionId } };
    return { to: permissions.includes("sessions:edit") ? "/start" : "/sessions" };
  } catch {
    return { to: "/inbox" };
  }
}
