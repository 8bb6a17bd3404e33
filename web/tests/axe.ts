// For tests of accessibility: what axe finds on a page, and whether the page scrolls sideways.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BrowserPage } from "@hawser/testkit/browser.ts";

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The widths and themes in which pages are looked at. With HAWSER_LONG=1 every width in every theme. */
export const looks = [
  { width: 1440, theme: "light" },
  { width: 390, theme: "dark" },
  ...(process.env["HAWSER_LONG"] === "1"
    ? ([
        { width: 1440, theme: "dark" },
        { width: 390, theme: "light" },
      ] as const)
    : []),
] as const;

interface Found {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

type Page = BrowserPage["page"];

/** Fails if there is a finding. `what` names the page; `selector`: only this part of it is looked at. */
export async function findNothing(page: Page, what: string, selector?: string): Promise<void> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const part = selector === undefined ? "document" : JSON.stringify(selector);
  const { violations } = await page.evaluate<{ violations: Found[] }>(`axe.run(${part})`);
  assert.deepEqual(
    violations.map(({ id, nodes }) => [id, nodes[0]!.html, nodes[0]!.failureSummary]),
    [],
    what,
  );
  const isTooWide = await page.evaluate(
    () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
  );
  assert.equal(isTooWide, false, `${what} scrolls sideways`);
}

/** Looks at the open dialog, and closes it. Behind it nothing has changed. */
export async function findNothingInDialog(page: Page, what: string): Promise<void> {
  await page.getByRole("dialog").waitFor();
  await findNothing(page, what, "dialog");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}
