// Gives shell texts to a real agent as calls of one session, to find those that run without being asked
// about.
import { placeIn, type Bench } from "./conformance/bench.ts";
import { never, Recording } from "./conformance/recording.ts";

/** Calls in one answer of the model, and answers in one turn. */
const perStep = 20;
const perTurn = 5;

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
  const steps = inGroups(texts, perStep).map((group) => ({
    calls: group.map((text) => bench.asking(text)),
  }));
  for (const group of inGroups(steps, perTurn)) await recording.play([...group, { text: "Done." }]);
  await recording.session.end(never);
  return texts.filter((text) => !asked.has(bench.shown(text).detail));
}

const inGroups = <Each>(all: readonly Each[], size: number): Each[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.slice(at * size, (at + 1) * size),
  );
