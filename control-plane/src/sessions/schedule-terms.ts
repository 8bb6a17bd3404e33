// What a schedule or trigger requires of a session that the service starts or prompts for it: the machine that it was
// saved for, and for a trigger the mode. Each is checked in the transaction of the call, also if a call is repeated.
import { Refusal, narrower, type SessionMode } from "@hawser/contract";
import type { CallingSchedule } from "../dispatch/caller.ts";

/** The machine behind an instance may be another one since it was chosen. It must not get the prompt unnoticed. */
export function refuseOtherHost(
  { type, hostKey }: CallingSchedule,
  { host_key }: { host_key: string | null },
): void {
  if (hostKey === undefined || hostKey === host_key) return;
  const confirm = type === "trigger" ? "update_trigger" : "set_scheduled_prompt_enabled";
  throw new Refusal(
    "host_refused",
    `This host was paired again after the ${type} was last saved, so it may be another machine. Check the host, then call ${confirm} with enabled true.`,
  );
}

/** A session that needs a mode does not start in another one. */
export function refuseLowerMode({ mode }: CallingSchedule, highest: SessionMode): void {
  if (mode === null || narrower(mode, highest) === mode) return;
  throw new Refusal(
    "host_refused",
    `The sessions of a trigger work in the mode ${mode}, and the organization allows at most ${highest}. Ask an owner to raise highestMode with update_settings.`,
  );
}

/** `isRepeated`: an earlier try of the same call may have reached the host. */
export function refusePrompt(
  { hostKey, mode }: CallingSchedule,
  session: { host_key: string | null; mode: SessionMode; highest_mode: SessionMode },
  isRepeated: boolean,
): void {
  if (hostKey !== undefined && hostKey !== session.host_key) {
    const unknown = " It is not known whether the former one received the prompt.";
    throw new Refusal(
      "host_refused",
      `Its host was paired again before the session received the prompt, so it may be another machine.${isRepeated ? unknown : ""}`,
    );
  }
  const allowed = narrower(session.mode, session.highest_mode);
  if (mode === null || mode === allowed) return;
  const received = isRepeated
    ? "It is not known whether it received the prompt."
    : "It did not receive the prompt.";
  throw new Refusal(
    "host_refused",
    `The sessions of a trigger work in the mode ${mode}, and this one is in ${allowed}, because the organization or the host's policy file allows no more. ${received} End it with end_session.`,
  );
}
