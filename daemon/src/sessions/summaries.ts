// Condensing a session's history: a turn like any other, but one that no caller wrote and nothing waits
// behind when it is asked for.
import { CommandRefusal } from "../command-refusal.ts";
import { openIdle } from "./admission.ts";
import { attach } from "./attach.ts";
import { checkProjectConfig, driverOf, type Core } from "./core.ts";
import { makeMessageId, makeTurnId } from "./ids.ts";
import { asRefusal } from "./refusals.ts";

/** Throws refusals. What it gives takes the work when called, with the outcome of being asked. */
export async function takeSummary(
  core: Core,
  sessionId: string,
): Promise<() => { turnId: string }> {
  const known = openIdle(core, sessionId);
  try {
    const driver = driverOf(core, known.kind);
    if (!driver.abilities.summarize) {
      const message = `${known.kind} sessions cannot be summarized.`;
      throw new CommandRefusal("capability_missing", message);
    }
    await checkProjectConfig(core, driver, known);
    await attach(core, sessionId);
  } catch (error) {
    throw asRefusal(error);
  }
  return () => {
    const { model, options } = openIdle(core, sessionId);
    const turnId = makeTurnId(core.now());
    core.journal.driven.addPrompt(sessionId, {
      turnId,
      messageId: makeMessageId(core.now()),
      text: "",
      model,
      options,
      agent: null,
      task: { type: "summarize" },
      state: "queued",
    });
    setImmediate(() => core.wake(sessionId));
    return { turnId };
  };
}
