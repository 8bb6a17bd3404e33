// Works on one run of a schedule or trigger: starts its session on the first host that accepts it, and sends the
// prompt.
//
// Both are ordinary calls of the key that the schedule acts with. Their idempotency keys contain the run's id, and
// their bodies are made from its plan alone. So a run that is worked on twice, because its node died or was too
// slow, starts one session and sends one prompt.
import {
  formatId,
  narrower,
  notFound,
  parseId,
  type Refusal,
  type SessionMode,
} from "@hawser/contract";
import type { Authenticator } from "../access/authenticate.ts";
import type { CallingSchedule } from "../dispatch/caller.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { hostOffline, isTooLate } from "../fabric/host-asker.ts";
import { lateSuffix, neverInTime, readOwnAnswer } from "../leases/own-answer.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { isOver } from "../sessions/lifecycle.ts";
import { statusMessage } from "../sessions/status-reasons.ts";
import { endRuns, type RunEnd } from "./outcome-store.ts";
import type { RunPlan } from "./plan.ts";
import * as store from "./run-store.ts";

export interface RunParts {
  system: SystemSql;
  callerOfKey: Authenticator["callerOfKey"];
  dispatchAs: Dispatcher["dispatchAs"];
}

/** A host that may have acted is asked again for this long. */
const longestAskSeconds = 10 * 60;
/** A clone may take half an hour, and its session gets the prompt after that. */
const longestPromptSeconds = 45 * 60;
/** After an outage, hosts need some time until they are connected again. */
const longestAwaySeconds = 5 * 60;
/** A run that passes over slow hosts gives its place to others in between. */
const longestHeldMs = 5_000;
/** An older run is not started: the outcomes of its calls are kept for a day, and must not be asked for later. */
const oldestSeconds = 12 * 60 * 60;

/** The action that resumes what started the run. */
const resumedBy = ({ isTriggered }: RunPlan) =>
  isTriggered ? "update_trigger with enabled true" : "set_scheduled_prompt_enabled";

const keyIsGone = (plan: RunPlan) =>
  `The API key that it acts with was revoked, has expired, or belongs to a user who has left. Call ${resumedBy(plan)} with your key, so that it acts with yours.`;

/** No person watches a trigger's session, and a text from outside must not make one approve a request. */
const modeOf = ({ isTriggered }: RunPlan): SessionMode | null =>
  isTriggered ? "unattended" : null;

type Run = store.RunRow;
type Accepted = { result: Record<string, unknown> } | { refusal: Refusal };

/** Throws if the database cannot be reached; then the run is picked up again. */
export async function workOn(parts: RunParts, run: Run): Promise<void> {
  const toPrompt = run.step === "start" ? await start(parts, run) : run;
  if (toPrompt) await prompt(parts, toPrompt);
}

/** Returns the run with its session; undefined if it was not started, or another node works on it. */
async function start(parts: RunParts, run: Run): Promise<Run | undefined> {
  const { system } = parts;
  if (run.age_seconds > oldestSeconds) {
    await fail(parts, run, "It could not be started for 12 hours.");
    return undefined;
  }
  if (!run.asked && !(await isModeAllowed(parts, run))) return undefined;
  if (!run.asked && (await areAway(parts, run))) return undefined;
  const heldSince = performance.now();
  const { passed_over: passed } = run;
  const hosts = run.plan.instanceIds.map((id) => formatId("instance", id));
  for (const [index, instanceId] of hosts.entries()) {
    if (index < passed.length) continue;
    const body = startBody(run.plan, instanceId);
    const answer = await call(parts, run, "start_session", `start:${index}`, body);
    if (!answer) return undefined;
    if ("result" in answer) {
      const sessionId = parseId("session", answer.result["sessionId"] as string);
      const noted = await system.first(store.noteStarted, ...keyOf(run), sessionId);
      const fresh = { asked: false, asked_seconds: 0 };
      return noted && { ...run, ...fresh, step: "prompt", session_id: sessionId };
    }
    const reason = reasonOf(run.plan, answer.refusal);
    const next = JSON.stringify([{ instanceId, reason }]);
    if (!(await system.first(store.passOver, ...keyOf(run), next))) return undefined;
    passed.push({ instanceId, reason });
    run.asked_seconds = 0;
    const isLast = passed.length === hosts.length;
    if (!isLast && performance.now() - heldSince > longestHeldMs) {
      await system.rows(store.giveBack, ...keyOf(run));
      return undefined;
    }
  }
  const last = passed.at(-1)!.reason;
  const why = hosts.length === 1 ? last : `None of its hosts could run it. ${last}`;
  const isHostAway = passed.every(
    ({ reason }) => reason === hostOffline().message || reason === neverInTime().message,
  );
  await fail(parts, run, why, { isHostAway });
  return undefined;
}

/** False if the run has failed, because the organization does not allow the mode that it needs. */
async function isModeAllowed(parts: RunParts, run: Run): Promise<boolean> {
  const mode = modeOf(run.plan);
  if (mode === null) return true;
  const found = await parts.system.first(store.selectHighestMode, run.organization_id);
  const highest = found!.highest_mode;
  if (narrower(mode, highest) === mode) return true;
  const why = `The sessions of a trigger work in the mode ${mode}, and the organization allows at most ${highest}. Ask an owner to raise highestMode with update_settings.`;
  await fail(parts, run, why, { pause: `${why} Then call ${resumedBy(run.plan)}.` });
  return false;
}

/** Whether the run waits, because none of the hosts that it has left is connected. False if it has none left. */
async function areAway(parts: RunParts, run: Run): Promise<boolean> {
  if (run.age_seconds > longestAwaySeconds) return false;
  const hosts = run.plan.instanceIds.slice(run.passed_over.length);
  if (hosts.length === 0) return false;
  const found = await parts.system.first(store.selectConnected, run.organization_id, hosts);
  if (found!.connected) return false;
  await tryLater(parts, run, "None of its hosts is connected.", { isHostAway: true });
  return true;
}

async function prompt(parts: RunParts, run: Run): Promise<void> {
  // If a host may have the prompt, only the same call shows what became of it.
  if (!run.asked && !(await isReady(parts, run))) return;
  const sessionId = formatId("session", run.session_id!);
  const body = { sessionId, text: run.plan.prompt };
  const answer = await call(parts, run, "send_prompt", "prompt", body);
  if (!answer) return;
  if ("refusal" in answer) {
    const { message } = answer.refusal;
    return fail(parts, run, message, { isHostAway: message === neverInTime().message });
  }
  await parts.system.rows(store.notePrompted, ...keyOf(run), answer.result["turnId"]);
}

/**
 * Whether the session can receive the prompt now. A refusal would be the outcome for good, so the prompt is not
 * sent to a host that is away or that still clones.
 */
async function isReady(parts: RunParts, run: Run): Promise<boolean> {
  const session = await parts.system.first(
    store.selectSessionState,
    run.organization_id,
    run.session_id,
  );
  if (!session) {
    await fail(parts, run, "Its session was deleted before it received the prompt.");
    return false;
  }
  if (isOver(session.status)) {
    const why = statusMessage(session);
    await fail(parts, run, why ?? "Its session was ended before it received the prompt.");
    return false;
  }
  const isStarting = session.activity === "starting" || session.status_reason === "start_unknown";
  if (!isStarting && session.reachable) return true;
  const why = isStarting
    ? "Its session did not start in time, so it did not receive the prompt."
    : "Its host disconnected before the session received the prompt.";
  await tryLater(parts, run, why, { isHostAway: !isStarting });
  return false;
}

/** Makes a call with the key of the run. Undefined if the run has ended, waits, or is another node's by now. */
async function call(
  parts: RunParts,
  run: Run,
  action: "start_session" | "send_prompt",
  name: string,
  body: object,
): Promise<Accepted | undefined> {
  const { system, callerOfKey, dispatchAs } = parts;
  const caller = await callerOfKey(run.organization_id, run.api_key_id);
  if (!caller) {
    await fail(parts, run, keyIsGone(run.plan), { pause: keyIsGone(run.plan) });
    return undefined;
  }
  if (!(await system.first(store.noteAsked, ...keyOf(run), run.api_key_id))) {
    await system.rows(store.skipPaused, ...keyOf(run));
    return undefined;
  }
  const answer = readOwnAnswer(
    await dispatchAs(
      { ...caller, schedule: callingSchedule(run) },
      {
        action,
        body: () => Promise.resolve(body),
        idempotencyKey: `run:${run.run_id}:${name}${lateSuffix(run)}`,
        callId: formatId("run", run.run_id),
        transport: "schedule",
      },
    ),
  );
  if ("later" in answer) {
    const why = answer.isUnknown
      ? `The host did not answer in time, so it is not known whether it ${action === "start_session" ? "started the session" : "received the prompt"}.`
      : answer.later;
    await tryLater(parts, run, why, {
      sessionId: answer.sessionId,
      isHostAway: answer.isUnknown,
    });
    return undefined;
  }
  if ("forbidden" in answer) {
    const why = `The API key that it acts with may not start sessions. ${answer.forbidden}`;
    await fail(parts, run, why, {
      pause: `${why} Call ${resumedBy(run.plan)} with a key that may.`,
    });
    return undefined;
  }
  if ("refusal" in answer && isTooLate(answer.refusal)) {
    if (run.asked_seconds > longestAskSeconds) return { refusal: neverInTime() };
    const why = "The host did not receive the call in time, so it has done nothing.";
    await system.rows(store.callAnew, ...keyOf(run), `${why} It is tried again.`);
    return undefined;
  }
  return answer;
}

function callingSchedule({ schedule_id, plan, passed_over }: Run): CallingSchedule {
  const { fallbackChain, isTriggered } = plan;
  const type = isTriggered ? "trigger" : "schedule";
  return {
    type,
    id: formatId(type, schedule_id),
    name: plan.name || (isTriggered ? "Trigger" : "Scheduled prompt"),
    fallbackChain,
    mode: modeOf(plan),
    hostKey: plan.hostKeys?.[passed_over.length],
  };
}

/** Pauses the work on a run, or fails the run with `why` if it has been tried for long enough. */
async function tryLater(
  parts: RunParts,
  run: Run,
  why: string,
  { sessionId, isHostAway }: { sessionId?: string | undefined; isHostAway: boolean },
): Promise<void> {
  const isOver =
    run.asked_seconds > longestAskSeconds ||
    (run.step === "prompt" && run.age_seconds > longestPromptSeconds && !run.asked);
  if (isOver) return fail(parts, run, why, { isHostAway });
  const session = (sessionId !== undefined && parseId("session", sessionId)) || null;
  await parts.system.rows(store.tryLater, ...keyOf(run), `${why} It is tried again.`, session);
}

/** `pause`: why the schedule cannot continue. `isHostAway`: it failed because no host was connected. */
async function fail(
  { system }: RunParts,
  { organization_id, schedule_id, run_id, fence }: Run,
  failure: string,
  { pause = null, isHostAway = false }: { pause?: string | null; isHostAway?: boolean } = {},
): Promise<void> {
  const run = { organization_id, schedule_id, run_id, fence };
  const outcome = { outcome: "failed", failure, is_host_away: isHostAway } as const;
  const end: RunEnd = { ...run, ...outcome, cost_usd: null, pause };
  await system.rows(endRuns, JSON.stringify([end]));
}

/** Why a host refused. An unknown host was removed: the schedule or trigger was created with a known one. */
const reasonOf = ({ isTriggered }: RunPlan, { message }: Refusal) =>
  message === notFound("instance").message
    ? `This host was removed. ${isTriggered ? "Create a trigger with another one." : "Choose another with update_scheduled_prompt."}`
    : message;

const keyOf = ({ organization_id, schedule_id, run_id, fence }: Run) =>
  [organization_id, schedule_id, run_id, fence] as const;

/** The body of the call that starts the session. */
function startBody(plan: RunPlan, instanceId: string): object {
  const { name, agentKind, providerId, modelId, useWorktree } = plan;
  const shared = {
    instanceId,
    ...(name && { title: name }),
    ...(agentKind && { agentKind }),
    ...(providerId !== null && { providerId }),
    ...(modelId !== null && { modelId }),
  };
  if (plan.cloneRepo !== null) return { ...shared, clone: { repo: plan.cloneRepo } };
  if (plan.cloneUrl !== null) return { ...shared, clone: { url: plan.cloneUrl } };
  return {
    ...shared,
    directory: plan.directory,
    ...(useWorktree !== null && { useWorktree }),
  };
}
