// What a person can do with a session besides writing in it. What its agent or its state does not allow is absent.
import type { Session } from "@hawser/client";
import { isOver } from "./words.ts";

export type Act = "push" | "rename" | "fork" | "summarize" | "revert" | "end";

export type OpenDialog =
  | { is: Exclude<Act, "summarize" | "revert"> }
  | { is: "revert"; messageId: string; at: string };

/** `hasGit`: whether it works in a repository with a commit. */
export function actsOf(
  session: Pick<Session, "capabilities" | "status">,
  { mayEdit, hasGit }: { mayEdit: boolean; hasGit: boolean },
): ReadonlySet<Act> {
  const acts = new Set<Act>();
  if (!mayEdit) return acts;
  const can = (capability: (typeof session.capabilities)[number]) =>
    session.capabilities.includes(capability);
  acts.add("rename");
  if (can("fork")) acts.add("fork");
  if (isOver(session)) return acts;
  if (hasGit) acts.add("push");
  if (can("summarize")) acts.add("summarize");
  if (can("revert")) acts.add("revert");
  return acts.add("end");
}
