// For tests: the window and the document as far as streams listen to them, with events that a test fires.
import { createWatchWake } from "../src/streams/wake.ts";

export function createPageEvents() {
  const window = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  let offsetMs = 0;
  const now = () => Date.now() + offsetMs;
  return {
    window,
    document,
    now,
    watchWake: createWatchWake({ window, document, now, tickMs: 20 }),
    fire: (name: string) => window.dispatchEvent(new Event(name)),
    show(state: "visible" | "hidden") {
      document.visibilityState = state;
      document.dispatchEvent(new Event("visibilitychange"));
    },
    /** The machine sleeps this long: the clock goes on, and no timer fires. */
    sleep(ms: number) {
      offsetMs += ms;
    },
  };
}
