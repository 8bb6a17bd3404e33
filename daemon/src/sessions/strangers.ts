// What those are told who may not use a session as they want, because it uses the agent account of another person.
import { CommandRefusal } from "../command-refusal.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";

/** A person, by the id that owns accounts. Keys of organizations and agents have none, so nothing includes them. */
export type Person = string | null | undefined;

/** Whether the owner of its account lets this person prompt the session. */
export function isGuest({ guests = [] }: Pick<DrivenSession, "guests">, who: Person): boolean {
  return typeof who === "string" && (guests === null || guests.includes(who));
}

export const notYours = (message: string) => new CommandRefusal("account_not_yours", message);

/** The refusal of anything but sharing. */
export function refusalOfStranger(session: Pick<DrivenSession, "guests">, who: Person) {
  if (typeof who !== "string") {
    return notYours(
      "This session uses a person's agent account, so keys of organizations and agents cannot give it work, even if it is shared. Use that person's key, or call fork_session to continue its conversation with another account.",
    );
  }
  if (isGuest(session, who)) {
    return notYours(
      "This session is shared with you, so you may prompt it. Only the owner of its agent account, whom accountOf names, can run shell commands in it, allow its calls, answer its questions or widen its mode.",
    );
  }
  return notYours(
    "This session uses another person's agent account, so only that person, whom accountOf names, can give it work, allow its calls or widen its mode. They can let you prompt it with share_session. To continue its conversation with an account of your own, call fork_session.",
  );
}
