// The group `session`: the cost of watching an agent through the control plane.
import type { Figure, Goal } from "./figure.ts";
import { measureFanOut } from "./session-fan-out.ts";
import { measureFirstText } from "./first-text.ts";
import { measureLongLog } from "./session-log.ts";
import { measureManySessions } from "./session-many.ts";

export async function* measureSession(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  yield* measureFirstText("session_first_text", "opencode", quick);
  yield* measureFanOut(quick);
  yield* measureLongLog(quick);
  yield* measureManySessions(quick);
}
