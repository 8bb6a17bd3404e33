// Modes of sessions: what their agents may do without asking. The mode is set by callers, and narrowed by
// the organization and by the host's policy file.
import { narrower, type SessionMode } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { requireReadable } from "../policy/forbidden.ts";
import type { Session } from "./session.ts";

/** Holds for the agent's next call. Throws refusals. */
export function setMode(
  session: Session,
  mode: SessionMode,
  ownerId: string | null | undefined,
): void {
  const record = session.require("mode");
  const current = record.mode ?? "ask";
  if (narrower(mode, current) !== mode) session.requireOwner(ownerId);
  const policy = session.host.policy();
  const { highestMode } = policy;
  if (narrower(mode, highestMode) !== mode) {
    requireReadable(policy);
    const message = `The host's policy file allows at most the mode ${highestMode}. Set that mode or a narrower one, or ask the host's owner to raise highest-mode in that file.`;
    throw new CommandRefusal("mode_not_allowed", message);
  }
  if (mode !== current) session.commit(() => changeMode(session, mode, null));
}

/** The mode that holds for the agent's next call. */
export function modeOf(session: Session): SessionMode {
  return narrower(session.record?.mode ?? "ask", session.host.policy().highestMode);
}

/** Within a commit: the organization or the host allows only a narrower mode than the session has. */
export function narrowMode(session: Session, organizations: SessionMode | undefined): void {
  const mode = session.record?.mode ?? "ask";
  const hosts = session.host.policy().highestMode;
  const allowed = narrower(narrower(mode, hosts), organizations ?? mode);
  if (allowed === mode) return;
  const who = allowed === hosts ? "The host's policy file" : "The organization";
  changeMode(session, allowed, `${who} allows at most the mode ${allowed}.`);
}

function changeMode(session: Session, mode: SessionMode, reason: string | null): void {
  session.change({ mode });
  session.note({ sessionUpdate: "mode_changed", mode, reason }, session.turnId);
}
