// For pictures: an organization at work, with hosts, sessions, requests, and the log of one session.
import type { Actions, Instance, Request, SessionOverview } from "@hawser/client";
import type { Entry } from "../src/features/session-log/row.ts";
import { session, sessionId } from "./faked-service.ts";

const permissionsOfOwner = ["sessions", "instances", "settings", "access"].flatMap((about) =>
  ["view", "edit", "delete"].map((what) => `${about}:${what}`),
);

/** The time of every picture. */
export const now = new Date("2026-11-16T08:18:00.000Z");
const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();

type Answers = {
  [Name in keyof Actions]?: (input: Record<string, unknown>) => Awaited<ReturnType<Actions[Name]>>;
};

const instance = (instanceId: string, name: string, changes: Partial<Instance> = {}): Instance => ({
  instanceId,
  name,
  status: "online",
  statusReason: null,
  host: { hostname: name, os: "linux", arch: "x64" },
  daemonVersion: "0.1.0",
  agents: [
    { kind: "opencode", installed: true, version: "1.18.33", ready: true, problems: [] },
    { kind: "claude_code", installed: true, version: "2.1.197", ready: true, problems: [] },
    {
      kind: "codex",
      installed: false,
      version: null,
      ready: false,
      problems: [{ code: "not_installed", message: "codex is not installed on this host." }],
    },
  ],
  activeSessionCount: 2,
  lastSeenAt: ago(0),
  createdAt: ago(60 * 24 * 40),
  ...changes,
});

const hosts: Instance[] = [
  instance("ins_1", "builder-fra-2"),
  instance("ins_2", "builder-fra-3", { activeSessionCount: 1 }),
  instance("ins_3", "ci-arm-1", { statusReason: "draining" }),
  instance("ins_4", "gpu-lab-1", {
    status: "offline",
    statusReason: "link_lost",
    lastSeenAt: ago(14),
  }),
  instance("ins_5", "laptop-jonas", {
    status: "offline",
    statusReason: "daemon_stopped",
    lastSeenAt: ago(60 * 16),
    activeSessionCount: 0,
  }),
  instance("ins_6", "mac-mini-7", {
    status: "pairing",
    statusReason: "never_paired",
    host: null,
    daemonVersion: null,
    agents: [],
    activeSessionCount: 0,
    lastSeenAt: null,
    createdAt: ago(3),
  }),
];

const overview = (
  id: string,
  title: string,
  minutes: number,
  changes: Partial<SessionOverview> = {},
): SessionOverview => ({
  sessionId: id,
  instanceId: "ins_1",
  title,
  agentKind: "claude_code",
  directory: "/srv/payouts",
  worktreeBranch: `hawser/${id}`,
  status: "active",
  statusReason: null,
  statusMessage: null,
  reachable: true,
  cost: 1.84,
  costIsEstimate: false,
  startedBy: { type: "user", id: "usr_1", name: "Mira Okafor" },
  forkedFrom: null,
  createdAt: ago(minutes + 60),
  endedAt: null,
  activity: "idle",
  turnStartedAt: ago(minutes),
  lastActivityAt: ago(minutes),
  lastSeq: 30,
  lastOutcome: "completed",
  lastOutcomeSeq: 20,
  openRequestCount: 0,
  oldestRequest: null,
  queuedPrompts: 0,
  readSeq: 30,
  version: "1",
  ...changes,
});

const asks = (requestId: string, type: Request["type"], title: string, minutes: number) =>
  ({
    activity: "waiting",
    openRequestCount: 1,
    oldestRequest: { requestId, type, title, raisedAt: ago(minutes) },
    lastOutcome: null,
    lastOutcomeSeq: null,
  }) as const;
const runs = { activity: "running", lastOutcome: null, lastOutcomeSeq: null } as const;

export const sessions: SessionOverview[] = [
  overview("ses_7", "Daily dependency update", 52, {
    ...asks("req_7", "permission", "Fetch github.com/nodejs/undici", 52),
    agentKind: "opencode",
    instanceId: "ins_2",
  }),
  overview("ses_6", "Move invoices to the new tax table", 11, {
    ...asks("req_6", "question", "Which rounding should totals keep?", 11),
  }),
  overview(
    sessionId,
    session.title!,
    4,
    asks("req_1", "permission", "Run npm run db:migrate -- --env=test", 4),
  ),
  overview("ses_2", "Trace slow ledger exports", 2, {
    ...runs,
    agentKind: "opencode",
    instanceId: "ins_2",
  }),
  overview("ses_3", "Port settlement report to streaming", 9, { ...runs, agentKind: "codex" }),
  overview("ses_4", "Flaky test hunt: payouts/batch", 14, {
    activity: "unknown",
    reachable: false,
    instanceId: "ins_4",
    lastOutcome: null,
    lastOutcomeSeq: null,
  }),
  overview("ses_8", "Add retry budget to bank connector", 18, { readSeq: 10 }),
  overview("ses_9", "Upgrade Postgres driver", 60, { lastOutcome: "failed", readSeq: 10 }),
  overview("ses_10", "Explain the FX rounding path", 180),
  overview("ses_11", "Docs: payout states", 60 * 24 * 5),
  overview("ses_12", "Spike: batch SEPA files", 60 * 24 * 6),
];

const request = (
  requestId: string,
  about: string,
  minutes: number,
  changes: Partial<Request>,
): Request => ({
  requestId,
  type: "permission",
  sessionId: about,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: null,
  questions: null,
  rule: "No rule allows it, and the mode is ask.",
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: ago(minutes),
  resolvedAt: null,
  ...changes,
});

const requests: Request[] = [
  request("req_1", sessionId, 4, {
    permission: {
      title: "Run a command",
      detail: "npm run db:migrate -- --env=test",
      alwaysRules: ["bash: npm run db:migrate -- --env=test"],
    },
  }),
  request("req_6", "ses_6", 11, {
    type: "question",
    questions: [
      {
        question: "Which rounding should totals keep?",
        options: [
          { label: "Half up", description: "As invoices have it today" },
          { label: "Half even", description: "As the new tax table has it" },
        ],
        multiple: false,
        freeText: true,
      },
    ],
  }),
  request("req_7", "ses_7", 52, {
    permission: {
      title: "Fetch a page",
      detail: "https://github.com/nodejs/undici/releases",
      alwaysRules: [],
    },
  }),
];

const text = (content: string) => ({ type: "text", text: content });
const said = (messageId: string, content: string) => ({
  sessionUpdate: "agent_message_chunk",
  messageId,
  content: text(content),
  parentToolCallId: null,
});
const calls = (
  toolCallId: string,
  kind: string,
  title: string,
  content: object[],
  status = "completed",
) => [
  {
    sessionUpdate: "tool_call",
    toolCallId,
    title,
    kind,
    status: "in_progress",
    rawInput: {},
    parentToolCallId: null,
  },
  { sessionUpdate: "tool_call_update", toolCallId, status, content },
];
const printed = (words: string) => [{ type: "content", content: text(words) }];
const patch = (path: string, added: number, removed: number) => [
  { type: "patch", path, patch: `--- a/${path}\n+++ b/${path}\n`, added, removed },
];

const updates: Entry["update"][] = [
  { sessionUpdate: "turn_started", messageId: "p1", model: null, agent: null },
  {
    sessionUpdate: "user_message_chunk",
    messageId: "p1",
    content: text(
      "Replayed transfer.settled webhooks pay out twice (PAY-1182). Make the handler idempotent, keep the public API as it is, and prove it with a test that fails today.",
    ),
  },
  ...["src/webhooks/handle-transfer.ts", "src/db.ts", "test/webhooks/replay.test.ts"].flatMap(
    (path, at) => calls(`r${at}`, "read", path, printed("…\n".repeat(40))),
  ),
  ...calls("s1", "search", "receipts", printed("3 matches")),
  ...calls("x1", "execute", "git log --oneline -5", printed("7c1e2a Add receipts")),
  said(
    "m1",
    "Found it. The receipt is written *after* the payout is queued, and it is keyed by `delivery.id`, which is new on every attempt. Two deliveries of one event both pass the check at `handle-transfer.ts:39`.\n\nI will insert the receipt first, keyed by the event, and queue the payout in the same transaction.",
  ),
  {
    sessionUpdate: "plan",
    entries: [
      ["Write a test that replays one event and expects one payout", "completed"],
      ["Add `webhook_receipts` with the event as primary key", "completed"],
      ["Record the receipt and queue the payout in one transaction", "completed"],
      ["Migrate the test database and run the suite", "in_progress"],
      ["Note the change in docs/webhooks.md", "pending"],
    ].map(([content, status]) => ({ content, status, priority: "medium" })),
  },
  ...calls(
    "e1",
    "edit",
    "src/webhooks/handle-transfer.ts",
    patch("src/webhooks/handle-transfer.ts", 13, 5),
  ),
  ...calls(
    "e2",
    "edit",
    "migrations/0042_webhook_receipts.sql",
    patch("migrations/0042_webhook_receipts.sql", 9, 0),
  ),
  ...calls(
    "e3",
    "edit",
    "test/webhooks/replay.test.ts",
    patch("test/webhooks/replay.test.ts", 61, 3),
  ),
  ...calls(
    "x2",
    "execute",
    "npm test -- webhooks",
    printed(
      '✖ replaying a delivery pays once (212 ms)\n  error: relation "webhook_receipts" does not exist',
    ),
    "failed",
  ),
  {
    sessionUpdate: "usage_update",
    usage: { inputTokens: 61_000, outputTokens: 7_200, cacheReadTokens: 0, cacheWriteTokens: 0 },
    costUsd: 1.84,
    costIsEstimate: false,
    context: { usedTokens: 68_000, windowTokens: 200_000 },
  },
  said(
    "m2",
    "The test fails for the right reason now: the test database has no receipts table yet. I need to apply the migration there.",
  ),
];

/** Four minutes before the pictures, one entry a second. */
export const entries: Entry[] = updates.map((update, at) => ({
  seq: at + 1,
  at: new Date(now.getTime() - (300 - at) * 1_000).toISOString(),
  turnId: "turn_1",
  update,
}));

/** The request of the session, as the log has it. */
export const raised: Entry = {
  seq: entries.length + 1,
  at: ago(4),
  turnId: "turn_1",
  update: { sessionUpdate: "request_raised", requestId: "req_1", type: "permission" },
};

/** Prompts that wait behind the turn, as the log has them. */
export const waitingPrompts: Entry[] = [
  "Then write the change down in docs/webhooks.md, with the reason for the new key.",
  "Run the whole suite once more.",
].map((content, at) => ({
  seq: entries.length + at + 1,
  at: ago(1),
  turnId: `turn_${at + 2}`,
  update: {
    sessionUpdate: "prompt_queued",
    messageId: `q${at}`,
    turnId: `turn_${at + 2}`,
    text: content,
  },
}));

/** The queue of the session, with these prompts. */
export const queueOf = (prompts: readonly Entry[]) => ({
  sessionId,
  version: prompts.at(-1)!.seq,
  prompts: prompts.map(({ turnId, update }) => ({
    messageId: update["messageId"],
    turnId,
    type: "prompt",
    text: update["text"],
    isCut: false,
    by: { userId: "usr_1", name: "Mira Okafor" },
    holds: [],
  })),
});

/** The question of another session, asked in this one. */
export const question = (): Request => ({ ...requests[1]!, sessionId });

export const answers: Answers = {
  whoami: () =>
    ({
      permissions: permissionsOfOwner,
      user: { userId: "usr_1", name: "Mira Okafor" },
      role: "owner",
    }) as unknown as Awaited<ReturnType<Actions["whoami"]>>,
  get_session_git: () => ({
    branch: session.worktreeBranch,
    base: null,
    commits: 2,
    unpushedCommits: 2,
    uncommittedFiles: 3,
    pullRequestUrl: null,
    live: true,
    takenAt: ago(0),
  }),
  search_instances: () => ({ instances: hosts, nextCursor: null }),
  search_sessions: ({ group }) => ({
    sessions: sessions.filter((each) => group === undefined || groupOf(each) === group),
    nextCursor: null,
    counts: { waiting: 3, running: 3, idle: 5, ended: 41 },
  }),
  search_requests: ({ scope, sessionId: asked }) => ({
    requests:
      scope === "resolved"
        ? []
        : requests.filter((each) => asked === undefined || each.sessionId === asked),
    nextCursor: null,
  }),
};

function groupOf({ openRequestCount, activity, endedAt }: SessionOverview): string {
  if (endedAt !== null) return "ended";
  if (openRequestCount > 0) return "waiting";
  return activity === "idle" ? "idle" : "running";
}
