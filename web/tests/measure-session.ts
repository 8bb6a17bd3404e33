// For tests and speed.ts: opens a generated session and measures opening, nodes, and keys.
import { openFaked } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

export interface Figures {
  /** From the request of the page until the last row is on the screen. */
  openMs: number;
  /** In the page, after pages of older entries were read. */
  nodes: number;
  /** From a key press until it is painted, at the 95th percentile, by the Event Timing API. */
  keyMs: number;
  /** Tasks above 50 ms while it was scrolled through. */
  longTasks: number;
  rows: number;
}

export async function measure(length: number, wheels = 40): Promise<Figures> {
  await using faked = await openFaked({ entryAt: generatedEntry, length });
  const { page } = faked;
  await page.addInitScript(() => {
    const seen = { keys: [] as number[], tasks: 0 };
    Object.assign(window, { seen });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        if (entry.name === "keydown") seen.keys.push(entry.duration);
      }
    }).observe({ type: "event", buffered: true, durationThreshold: 16 } as PerformanceObserverInit);
    new PerformanceObserver((list) => (seen.tasks += list.getEntries().length)).observe({
      type: "longtask",
    });
  });
  // The first opening also reads the pages' files.
  await faked.open("/sessions");
  await page.locator(".main .item").waitFor();
  const openMs = await page.evaluate(async () => {
    const startedAt = performance.now();
    document.querySelector<HTMLElement>(".main .item")!.click();
    while (!document.querySelector(".log-row")) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    await new Promise((resolve) => requestAnimationFrame(resolve));
    return performance.now() - startedAt;
  });
  await page.evaluate(() => ((window as unknown as { seen: { tasks: number } }).seen.tasks = 0));
  await page.locator(".log").hover();
  for (let turn = 0; turn < wheels; turn++) {
    await page.mouse.wheel(0, -1_200);
    await page.waitForTimeout(30);
  }
  const longTasks = await page.evaluate(
    () => (window as unknown as { seen: { tasks: number } }).seen.tasks,
  );
  await page
    .getByLabel("Message")
    .pressSequentially("the quick brown fox jumps over it ".repeat(3), {
      delay: 20,
    });
  const { nodes, keys } = await page.evaluate(() => ({
    nodes: document.querySelectorAll("*").length,
    keys: (window as unknown as { seen: { keys: number[] } }).seen.keys,
  }));
  // Shorter presses than the threshold are not reported, so they count as the threshold's 16 ms at most.
  const presses = 34 * 3;
  const sorted = [
    ...Array.from({ length: Math.max(0, presses - keys.length) }, () => 16),
    ...keys,
  ].sort((a, b) => a - b);
  const keyMs = sorted[Math.floor(sorted.length * 0.95)]!;
  const rows = faked.calls.filter(({ action }) => action === "list_session_events").length * 200;
  return { openMs: Math.round(openMs), nodes, keyMs, longTasks, rows };
}
