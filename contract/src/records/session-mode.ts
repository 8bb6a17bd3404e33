// Modes of a session: what its agent may do without asking.
import { z } from "zod";

/** From the narrowest to the widest. */
export const SessionMode = z.enum(["ask", "auto", "unattended"]).meta({
  description:
    "How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused.",
});
export type SessionMode = z.infer<typeof SessionMode>;

/** The narrower of two modes. */
export function narrower(one: SessionMode, other: SessionMode): SessionMode {
  const { options } = SessionMode;
  return options.indexOf(one) < options.indexOf(other) ? one : other;
}
