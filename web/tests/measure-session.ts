// For tests and speed.ts: opens a generated session and measures opening, scrolling, nodes, and keys.
import { openFaked } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";
import { longest, percentile, traced } from "./main-thread.ts";

/** On the clock, and as processor time of the page's main thread alone. */
export interface Took {
  ms: number;
  cpuMs: number;
}

export interface Figures {
  /** From a click on the session in a list until its last rows are on the screen. */
  open: Took;
  /** In the page, after pages of older entries were read. */
  nodes: number;
  /** The longest task while it was scrolled through. */
  scrollTask: Took;
  /** From a key press until it is painted, at the 95th percentile: by the Event Timing API, and all work until the next. */
  key: Took;
  rows: number;
}

const typed = "the quick brown fox jumps over it ".repeat(3);

export async function measure(length: number, wheels = 40): Promise<Figures> {
  await using faked = await openFaked({ entryAt: generatedEntry, length });
  const { page } = faked;
  await page.addInitScript(() => {
    const keys: number[] = [];
    Object.assign(window, { keys });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        if (entry.name === "keydown") keys.push(entry.duration);
      }
    }).observe({ type: "event", buffered: true, durationThreshold: 16 } as PerformanceObserverInit);
  });
  // The first opening also reads the pages' files.
  await faked.open("/sessions");
  await page.locator(".main .item").waitFor();
  let openMs = 0;
  const opening = await traced(page, async () => {
    openMs = await page.evaluate(async () => {
      const startedAt = performance.now();
      document.querySelector<HTMLElement>(".main .item")!.click();
      while (!document.querySelector(".log-row")) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      await new Promise((resolve) => requestAnimationFrame(resolve));
      return performance.now() - startedAt;
    });
  });
  const scrolling = await traced(page, async () => {
    await page.locator(".log").hover();
    for (let turn = 0; turn < wheels; turn++) {
      await page.mouse.wheel(0, -1_200);
      await page.waitForTimeout(30);
    }
  });
  const typing = await traced(page, async () => {
    await page.getByLabel("Message").pressSequentially(typed, { delay: 20 });
  });
  const { nodes, keys } = await page.evaluate(() => ({
    nodes: document.querySelectorAll("*").length,
    keys: (window as unknown as { keys: number[] }).keys,
  }));
  // Shorter presses than the threshold are not reported, so they count as the threshold's 16 ms at most.
  const unreported = Array.from({ length: Math.max(0, typed.length - keys.length) }, () => 16);
  const workOfKeys = typing.keysAt.map((at, index) => {
    const until = typing.keysAt[index + 1] ?? Infinity;
    return typing.tasks
      .filter((task) => task.at + task.tookMs > at && task.at < until)
      .reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  });
  const rows = faked.calls.filter(({ action }) => action === "list_session_events").length * 200;
  return {
    open: { ms: openMs, cpuMs: opening.tasks.reduce((sum, { cpuMs }) => sum + cpuMs, 0) },
    nodes,
    scrollTask: {
      ms: longest(scrolling.tasks.map(({ tookMs }) => tookMs)),
      cpuMs: longest(scrolling.tasks.map(({ cpuMs }) => cpuMs)),
    },
    key: { ms: percentile([...unreported, ...keys], 0.95), cpuMs: percentile(workOfKeys, 0.95) },
    rows,
  };
}
