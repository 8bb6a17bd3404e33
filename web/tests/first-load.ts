// For size.ts and tests: which scripts and styles a browser loads by itself when it opens an address.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { openFaked, session, sessionId } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

/** The first load of any page, scripts and styles with gzip. Fonts come on top: the text is shown before they arrive. */
export const budget = 200_000;

/** Addresses, and what is shown once the page has what it needs. A request is open, so "/" leads to the inbox. */
const views = {
  "/sign-in": "main form",
  "/": ".ask-card",
  "/inbox": ".ask-card",
  "/hosts": "main table",
  [`/sessions/${sessionId}`]: ".ask-card",
};

export interface FirstLoad {
  /** Paths such as "/assets/index-1234.js". */
  files: string[];
  /** Bytes that load once the page is shown and idle: code that a person may need next. */
  later: string[];
}

const pages = join(import.meta.dirname, "../../control-plane/pages");

export const gzipped = (path: string): number =>
  gzipSync(readFileSync(join(pages, path)), { level: 9 }).length;
export const gzippedAll = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + gzipped(path), 0);

export async function firstLoads(): Promise<Map<string, FirstLoad>> {
  await using faked = await openFaked({
    entryAt: generatedEntry,
    length: 400,
    record: { ...session, capabilities: ["commands", "diff", "fork", "revert", "shell"] },
  });
  const { page, answers } = faked;
  answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? [request] : [],
    nextCursor: null,
  });
  // The browser is idle when the test says so.
  await page.addInitScript(() => {
    const waiting: (() => void)[] = [];
    const real = globalThis.requestIdleCallback;
    globalThis.requestIdleCallback = (run) => waiting.push(run as () => void);
    Object.assign(globalThis, {
      becomeIdle: () => {
        globalThis.requestIdleCallback = real;
        for (const run of waiting.splice(0)) run();
      },
    });
  });
  let asked: string[] = [];
  const pending = new Set<object>();
  const isCode = (type: string) => type === "script" || type === "stylesheet";
  page.on("request", (each) => {
    if (!isCode(each.resourceType())) return;
    pending.add(each);
    asked = [...asked, new URL(each.url()).pathname];
  });
  page.on("requestfinished", (each) => void pending.delete(each));
  page.on("requestfailed", (each) => void pending.delete(each));
  /** A script that has been loaded may ask for the next one. */
  const loaded = async () => {
    for (let before = -1; before !== asked.length || pending.size > 0;) {
      before = asked.length;
      await page.evaluate(
        () => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 250)),
      );
    }
    return [...new Set(asked)];
  };
  const loads = new Map<string, FirstLoad>();
  for (const [address, shown] of Object.entries(views)) {
    asked = [];
    const isSignedIn = address !== "/sign-in";
    if (!isSignedIn) {
      await page.route("**/api/sign-in", (route) =>
        route.fulfill({
          status: 401,
          json: { error: { code: "unauthorized", message: "", retry: "never" } },
        }),
      );
    }
    await faked.open(address);
    await page.locator(shown).first().waitFor();
    const files = await loaded();
    await page.evaluate(() => (globalThis as unknown as { becomeIdle: () => void }).becomeIdle());
    const later = (await loaded()).filter((file) => !files.includes(file));
    if (!isSignedIn) await page.unroute("**/api/sign-in");
    loads.set(address, { files, later });
  }
  return loads;
}

const request = {
  requestId: "req_1",
  type: "permission",
  sessionId,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: { title: "Run a command", detail: "npm test", alwaysRules: [] },
  questions: null,
  rule: null,
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: "2026-11-15T10:00:00.000Z",
  resolvedAt: null,
};
