// Holds: a prompt that somebody edits waits until they have finished, or until they are gone for a minute.
import type { KeptPrompt, PromptHold } from "../journal/driven-sessions.ts";

const leaseMs = 60_000;

type Held = Pick<KeptPrompt, "holds">;

/** For how long the prompt is still held; 0 if it is not. */
export function heldForMs(prompt: Held, now: number): number {
  return Math.max(0, ...holdsOf(prompt, now).map(({ until }) => until - now));
}

/** Holds that have not expired. */
export function holdsOf({ holds = [] }: Held, now: number): PromptHold[] {
  // A clock that was set back must not make a hold longer.
  return holds.filter(({ until }) => until > now && until <= now + leaseMs);
}

/** The holds after this person has begun or continued to edit the prompt, or has stopped. */
export function holdsAfter(
  prompt: Held,
  by: string | null,
  isHeld: boolean,
  now: number,
): PromptHold[] {
  const others = holdsOf(prompt, now).filter((hold) => hold.by !== by);
  return isHeld ? [...others, { by, until: now + leaseMs }] : others;
}
