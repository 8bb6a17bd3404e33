// Modes of a session: what its agent may do without asking.
import { z } from "zod";

/** From the narrowest to the widest. */
export const SessionMode = z.enum(["ask", "auto", "unattended"]).meta({
  description:
    "ask: a person decides what no rule allows. auto: commands in an agent's own sandbox run without asking. unattended: nobody is asked; what would need a person is refused.",
});
export type SessionMode = z.infer<typeof SessionMode>;

/** The narrower of two modes. */
export function narrower(one: SessionMode, other: SessionMode): SessionMode {
  const { options } = SessionMode;
  return options.indexOf(one) < options.indexOf(other) ? one : other;
}
