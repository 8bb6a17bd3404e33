// Decides about the calls of a session's agent by the session's mode, the organization's policy and the
// host's policy file, all read again for each call. The log shows every decision with the rule behind it:
// what was allowed or denied in an entry of its own, what a person is asked in the request.
import type { SessionMode } from "@hawser/contract";
import type { SessionSettings } from "../drivers/driver.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import type { Call, Decision } from "../policy/call.ts";
import { decide, type Rules } from "../policy/decide.ts";
import { whyForbidden } from "../policy/forbidden.ts";
import { protectedPaths } from "../policy/protected-paths.ts";
import { modeOf } from "./modes.ts";
import type { Session } from "./session.ts";
import { trustedOf } from "./trust.ts";

/** What the agent needs to know about the session. */
export function settingsOf(session: Session, record: DrivenSession): SessionSettings {
  const { sessionId, directory, title, model, options } = record;
  const decide = (call: Call) => decideCall(session, call);
  const trusted = trustedOf(session, record.trusted);
  return { sessionId, directory, title, model, options, decide, trusted };
}

function decideCall(session: Session, call: Call): Decision {
  const { record } = session;
  if (!record || session.host.closed.aborted) {
    return { answer: "deny", rule: "the session has ended" };
  }
  const mode = modeOf(session);
  const { answer, rule } = decideByPolicy(session, record, mode, call);
  if (answer !== "ask") {
    session.note(
      { sessionUpdate: "call_decided", toolCallId: call.callId, answer, rule, mode },
      session.turnId,
    );
  }
  return { answer, rule };
}

function decideByPolicy(
  session: Session,
  record: DrivenSession,
  mode: SessionMode,
  call: Call,
): Decision {
  const { stateDirectory } = session.host;
  const policy = session.host.policy();
  // The file can change, or become unreadable, while a turn runs.
  const usesOwnLogin = record.ownerId === undefined;
  const forbidden = whyForbidden(policy, record.kind, { usesOwnLogin });
  if (forbidden !== undefined) return { answer: "deny", rule: forbidden };
  const rules: Rules = {
    ...record.policy,
    mode,
    directory: record.directory,
    hasSandbox: session.knownDriver?.hasSandbox ?? false,
    unattendedCommands: policy.unattendedCommands,
    trustedDirectory: trustedOf(session, record.trusted)?.directory,
    ...protectedPaths(stateDirectory),
  };
  return decide(rules, call);
}
