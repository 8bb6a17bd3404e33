// For tests of what a page does with what it reads: the built pages in Chromium, and a service whose answers a test
// writes. What the real service answers is in story.test.ts.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, type BrowserPage } from "@hawser/testkit/browser.ts";
import type { Session } from "@hawser/client";
import type { Entry } from "../src/features/session-log/row.ts";

type Page = BrowserPage["page"];
type Route = Parameters<Parameters<Page["route"]>[1]>[0];

const pages = join(import.meta.dirname, "../../control-plane/pages");
const types: Record<string, string> = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};
/** A secure context, as a browser sees it. */
const origin = "http://hawser.localhost";
export const sessionId = "ses_1";

export interface FakedService extends BrowserPage {
  open: (path: string) => Promise<void>;
  /** Adds entries, which the stream sends. */
  add: (...entries: Entry[]) => void;
  /** Says to the pages that records have changed: they read what they show again. */
  changed: () => void;
  /** Another tab of the same browser. */
  openTab: (path: string) => Promise<Page>;
  /** The tabs whose request for the organization's events is open. */
  feeds: () => Page[];
  /** An identity provider has signed the person in. */
  useProvider: () => void;
  /** The sign-in ends, and with it the streams, until the page signs in with a password. */
  endSignIn: () => void;
  /** This person signs in in another tab: the former sign-in ends, and with it the streams. */
  signInAs: (email: string) => void;
  /** What the service answers to a request for a page; the built page without it. */
  servePage: (html: string | undefined) => void;
  /** While it is true, no stream connects. */
  breakStreams: (isBroken: boolean) => void;
  /** Calls of actions, in order. */
  calls: { action: string; input: Record<string, unknown> }[];
  /** Addresses that are not the service's. */
  foreign: string[];
  /** What the page has written to the console as a warning. */
  warnings: string[];
  answers: Record<string, (input: Record<string, unknown>) => unknown>;
  /** Refusals instead of answers. */
  refusals: Record<string, { code: string; message: string; retry: string; incidentId?: string }>;
}

export interface FakedOptions {
  width?: number;
  /** The entry with a number, from 1 on. */
  entryAt: (seq: number) => Entry;
  length: number;
  /** The session's record. */
  record?: Session;
}

/** Who has an account, with the ids. */
const people: Record<string, string> = {
  "mira@people.example": "usr_1",
  "kim@people.example": "usr_2",
};

const now = "2026-11-15T10:00:00.000Z";
export const session: Session = {
  sessionId,
  instanceId: "ins_1",
  title: "Stop double payouts on replayed webhooks",
  agentKind: "claude_code",
  directory: "/srv/payouts",
  worktreeBranch: "hawser/stop-double-payouts",
  status: "active",
  statusReason: null,
  statusMessage: null,
  reachable: true,
  cost: null,
  costIsEstimate: false,
  startedBy: { type: "user", id: "usr_1", name: "Mira Okafor" },
  forkedFrom: null,
  createdAt: now,
  endedAt: null,
  mode: "ask",
  model: null,
  usage: null,
  capabilities: [],
  fallback: null,
  trustedParts: [],
  accountOf: null,
  sharedWith: null,
  continuation: null,
};

/** The host has never answered. */
const git = {
  branch: null,
  base: null,
  commits: null,
  unpushedCommits: null,
  uncommittedFiles: null,
  pullRequestUrl: null,
  live: false,
  takenAt: null,
};

/** As in a list. */
const overview = {
  ...session,
  activity: "idle",
  openRequestCount: 0,
  oldestRequest: null,
  turnStartedAt: null,
  lastActivityAt: null,
  lastOutcome: null,
  lastOutcomeSeq: null,
  lastSeq: 0,
  readSeq: 0,
};

type Overview = Omit<typeof overview, "oldestRequest"> & { oldestRequest: object | null };

/** Answers as the service does for these sessions: by group and text, with counts. */
export function listing(all: readonly object[]) {
  const sessions = all.map((each): Overview => ({ ...overview, ...each }));
  const groupOf = ({ status, openRequestCount, activity }: Overview) =>
    status === "ended"
      ? "ended"
      : openRequestCount > 0
        ? "waiting"
        : activity === "running"
          ? "running"
          : "idle";
  const count = (group: string) => sessions.filter((each) => groupOf(each) === group).length;
  const counts = {
    waiting: count("waiting"),
    running: count("running"),
    idle: count("idle"),
    ended: count("ended"),
  };
  return ({ group, query, limit = 50, withCounts }: Record<string, unknown>) => ({
    sessions: sessions
      .filter(
        (each) =>
          (group === undefined || groupOf(each) === group) &&
          (each.title ?? "")
            .toLowerCase()
            .includes(typeof query === "string" ? query.toLowerCase() : ""),
      )
      .slice(0, Number(limit)),
    nextCursor: null,
    counts: withCounts === true ? counts : null,
  });
}

export async function openFaked({
  width = 1440,
  entryAt,
  length,
  record = session,
}: FakedOptions): Promise<FakedService> {
  const browser = await openBrowser({ username: "", password: "" });
  const { page } = browser;
  // On a busy machine a page takes long, and no test here is about that.
  page.setDefaultTimeout(60_000);
  await page.setViewportSize({ width, height: width < 720 ? 844 : 900 });
  await page.emulateMedia({ reducedMotion: "reduce" });
  const added: Entry[] = [];
  let wake = () => {};
  let hint: (() => void) | undefined;
  const feeds = new Map<object, Page>();
  let isHinted = false;
  let html: string | undefined;
  let isBroken = false;
  let isSignedOut = false;
  let isOfProvider = false;
  let signIns = 1;
  let email = "mira@people.example";
  const endStreams = () => {
    wake();
    changed();
  };
  const calls: FakedService["calls"] = [];
  const foreign: string[] = [];
  const warnings: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "warning") warnings.push(message.text());
  });
  const refusals: FakedService["refusals"] = {};
  const lastSeq = () => length + added.length;
  const entry = (seq: number) => (seq <= length ? entryAt(seq) : added[seq - length - 1]!);
  const some = (after: number, limit: number) =>
    Array.from({ length: Math.max(0, Math.min(limit, lastSeq() - after)) }, (_, at) =>
      entry(after + at + 1),
    );
  const instance = {
    instanceId: "ins_1",
    name: "builder-fra-2",
    status: "online",
    statusReason: null,
    agents: [],
  };
  const answers: FakedService["answers"] = {
    whoami: () => ({ permissions: ["sessions:view", "sessions:edit", "instances:view"] }),
    search_instances: () => ({ instances: [instance], nextCursor: null }),
    get_instance: () => instance,
    search_sessions: listing([record]),
    search_requests: () => ({ requests: [], nextCursor: null }),
    mark_session_read: ({ sessionId: id, seq }) => ({ sessionId: id, readSeq: seq }),
    get_session_summary: () => ({ ...record, live: null }),
    get_session_git: () => git,
    list_queued_prompts: () => ({ sessionId, version: 0, prompts: [] }),
    list_session_ports: () => ({ ports: [] }),
    list_session_rules: () => ({ sessionId, rules: [], truncated: false }),
    list_session_events: ({ after = 0, limit = 100, tail }) => ({
      events: some(
        tail === true ? Math.max(0, lastSeq() - Number(limit)) : Number(after),
        Number(limit),
      ),
      lastSeq: lastSeq(),
      hasMore: false,
      nextAfter: null,
    }),
  };
  const stream = async (route: Route, after: number) => {
    const signIn = signIns;
    const isOver = () => isSignedOut || signIn !== signIns || lastSeq() > after;
    while (!isOver()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const frames = some(after, lastSeq()).map(
      (each) => `id: ${each.seq}\nevent: entry\ndata: ${JSON.stringify(each)}\n\n`,
    );
    const body = `event: record\ndata: ${JSON.stringify(record)}\n\n${frames.join("")}`;
    await route.fulfill({ status: 200, contentType: "text/event-stream", body });
  };
  await page.context().route("**/*", async (route) => {
    const request = route.request();
    const url = new URL(request.url());
    const { pathname } = url;
    if (url.origin !== origin) {
      foreign.push(url.href);
      await route.abort();
      return;
    }
    const json = (body: unknown, status = 200) => route.fulfill({ status, json: body });
    if (pathname === "/api/sign-in/password") {
      isSignedOut = false;
      signIns += 1;
      ({ email } = request.postDataJSON() as { email: string });
      await json({ userId: people[email] });
      return;
    }
    if (isSignedOut && pathname.startsWith("/api/")) {
      const error = { code: "unauthenticated", message: "Sign in first.", retry: "never" };
      await json({ error }, 401);
      return;
    }
    const named = request.headers()["x-hawser-person"];
    if (pathname.startsWith("/api/") && named !== undefined && named !== people[email]) {
      const error = { code: "other_person", message: "Nothing was done.", retry: "changed" };
      await json({ error }, 409);
      return;
    }
    const action = /^\/api\/rest\/actions\/(\w+)$/.exec(pathname)?.[1];
    if (action !== undefined) {
      const input = (request.postDataJSON() ?? {}) as Record<string, unknown>;
      calls.push({ action, input });
      const answer = answers[action];
      const refusal = refusals[action];
      await (refusal
        ? json({ error: refusal }, 409)
        : answer
          ? json({ result: answer(input) })
          : json(
              { error: { code: "not_found", message: `There is no ${action}.`, retry: "never" } },
              404,
            ));
    } else if (pathname === "/api/sign-in") {
      await json({
        signInId: `sgn_${signIns}`,
        user: { userId: people[email], email },
        expiresAt: "2027-01-01T00:00:00.000Z",
        isOfProvider,
        hasPassword: true,
        passkeys: [],
        organizations: [
          { organizationId: "org_1", name: "Tidewater", role: "owner", memberName: "Mira Okafor" },
        ],
      });
    } else if (pathname.endsWith("/events") && isBroken) {
      await route.abort();
    } else if (pathname.includes(`${sessionId}/events`)) {
      await stream(route, Number(url.searchParams.get("after"))).catch(() => {});
    } else if (pathname.endsWith("/api/events")) {
      // The stream ends with each hint, and after every connection the pages read everything again.
      const end = () => {
        feeds.delete(request);
        void route.fulfill({ status: 200, contentType: "text/event-stream" }).catch(() => {});
      };
      const tab = request.frame().page();
      feeds.set(request, tab);
      tab.once("close", () => {
        if (hint === end) hint = undefined;
      });
      if (isHinted) end();
      else hint = end;
      isHinted = false;
    } else if (html !== undefined && pathname === "/") {
      await route.fulfill({ status: 200, contentType: "text/html", body: html });
    } else {
      const file = pathname !== "/" && existsSync(pages + pathname) ? pathname : "/index.html";
      const contentType = types[file.slice(file.lastIndexOf(".") + 1)] ?? "text/plain";
      await route.fulfill({ status: 200, contentType, body: readFileSync(pages + file) });
    }
  });
  const changed = () => {
    if (hint) hint();
    else isHinted = true;
    hint = undefined;
  };
  return {
    ...browser,
    calls,
    foreign,
    warnings,
    answers,
    refusals,
    changed,
    useProvider: () => void (isOfProvider = true),
    endSignIn() {
      isSignedOut = true;
      endStreams();
    },
    signInAs(next) {
      email = next;
      signIns += 1;
      endStreams();
    },
    servePage: (next) => void (html = next),
    breakStreams(next) {
      isBroken = next;
      if (next) changed();
    },
    open: async (path) => void (await page.goto(origin + path)),
    async openTab(path) {
      const tab = await page.context().newPage();
      tab.setDefaultTimeout(60_000);
      await tab.goto(origin + path);
      return tab;
    },
    feeds: () => [...feeds.values()].filter((tab) => !tab.isClosed()),
    add(...entries) {
      added.push(...entries);
      wake();
    },
  };
}
