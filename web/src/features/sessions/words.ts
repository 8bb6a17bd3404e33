// What a session's record says, in words and marks.
import type { SessionOverview } from "@hawser/client";
import type { MarkState } from "../../design/mark.tsx";
import { words } from "../../words/words.ts";

type Listed = Pick<
  SessionOverview,
  | "status"
  | "title"
  | "directory"
  | "reachable"
  | "activity"
  | "openRequestCount"
  | "lastOutcome"
  | "lastOutcomeSeq"
  | "readSeq"
>;

/** In the order of lists. */
export const groups = ["waiting", "running", "idle", "ended"] as const;
export type SessionGroup = (typeof groups)[number];

/** The agent's or the person's title, or else where it works. */
export function titleOf({ title, directory }: Pick<Listed, "title" | "directory">): string {
  return (
    title ?? directory?.split("/").findLast((part) => part !== "") ?? words("session.untitled")
  );
}

export function isOver({ status }: Pick<Listed, "status">): boolean {
  return status === "ended" || status === "cleanup_failed";
}

/** The first that applies, as the service groups sessions. */
export function groupOf(
  session: Pick<Listed, "status" | "activity" | "openRequestCount">,
): SessionGroup {
  if (isOver(session)) return "ended";
  if (session.openRequestCount > 0) return "waiting";
  // Unknown is what worked when its host was lost.
  return session.activity === "idle" ? "idle" : "running";
}

/** A turn has ended that this person has not seen yet. */
export function isUnread({ lastOutcomeSeq, readSeq }: Pick<Listed, "lastOutcomeSeq" | "readSeq">) {
  return lastOutcomeSeq !== null && readSeq !== null && readSeq < lastOutcomeSeq;
}

/** A session whose host cannot be reached is never drawn as running. */
export function markOf(session: Listed): { state: MarkState; label: string } {
  const group = groupOf(session);
  if (group === "ended") return { state: "end", label: words("session.mark.ended") };
  if (group === "waiting") return { state: "ask", label: words("session.mark.asks") };
  if (group === "running") {
    return session.reachable
      ? { state: "run", label: words("session.mark.running") }
      : { state: "off", label: words("session.mark.offline") };
  }
  if (session.status === "error") return { state: "err", label: words("session.mark.error") };
  if (!isUnread(session)) return { state: "idle", label: words("session.mark.open") };
  return session.lastOutcome === "failed" || session.lastOutcome === "interrupted"
    ? { state: "err", label: words("session.mark.failed") }
    : { state: "unread", label: words("session.mark.unread") };
}

/** "tidewater/payouts": the last two parts of a directory. */
export function shortDirectory(directory: string): string {
  return directory.split("/").filter(Boolean).slice(-2).join("/");
}
