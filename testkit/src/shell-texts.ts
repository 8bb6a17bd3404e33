// Gives shell texts to a real agent as calls of one session, to find those that run without being asked
// about.
import { placeIn, type Bench } from "./conformance/bench.ts";
import { never, Recording } from "./conformance/recording.ts";

/** Calls in one answer of the model. */
const perStep = 20;

/**
 * Runs each text as a command of an agent whose rules allow no command. Every request is rejected. Returns
 * the texts that no request was about.
 */
export async function findUnasked(bench: Bench, texts: readonly string[]): Promise<string[]> {
  const policy = { allowedCommands: [], outsideWorktree: "ask" as const };
  const recording = new Recording(bench, placeIn(bench.directory, { policy }));
  const asked = new Set<string | null>();
  recording.session = await bench.driver().start(
    recording.place,
    (event) => {
      recording.sink(event);
      if (event.type !== "request" || !("permission" in event.asked)) return;
      asked.add(event.asked.permission.detail);
      const { key } = event;
      setImmediate(() => void recording.session.answer(key, { permission: "reject" }, never));
    },
    never,
  );
  const calls = texts.map((text) => bench.asking(text));
  const steps = [];
  for (let at = 0; at < calls.length; at += perStep) {
    steps.push({ calls: calls.slice(at, at + perStep) });
  }
  await recording.play([...steps, { text: "Done." }]);
  await recording.session.end(never);
  return texts.filter((text) => !asked.has(bench.shown(text).detail));
}
