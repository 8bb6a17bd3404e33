// For tests: sessions of every group, as a list of them shows them.
const minutesAgo = (n: number) => new Date(Date.now() - n * 60_000).toISOString();
const asked = (requestId: string, title: string, n: number) => ({
  openRequestCount: 1,
  activity: "running",
  oldestRequest: { requestId, type: "permission", title, raisedAt: minutesAgo(n) },
});

const asking = (sessionId: string, title: string, n: number) => ({
  sessionId,
  title,
  ...asked(`req_${sessionId}`, `Run npm test in ${sessionId}`, n),
});
export const running = (sessionId: string, title: string, n: number) => ({
  sessionId,
  title,
  activity: "running",
  turnStartedAt: minutesAgo(n),
});
export const idle = (sessionId: string, title: string, n: number) => ({
  sessionId,
  title,
  lastActivityAt: minutesAgo(n),
});
const ended = (n: number) => ({
  sessionId: `ses_over${n}`,
  title: `Over ${n}`,
  status: "ended",
  endedAt: minutesAgo(10_000 + n),
});

export const manySessions = [
  asking("ses_ask4", "Move invoices to the new tax table", 4),
  asking("ses_ask52", "Daily dependency update", 52),
  running("ses_run9", "Port settlement report to streaming", 9),
  { ...running("ses_off", "Flaky test hunt", 14), reachable: false },
  idle("ses_1", "Stop double payouts on replayed webhooks", 90),
  { ...idle("ses_new", "Add retry budget", 18), lastOutcome: "completed", lastOutcomeSeq: 7 },
  { ...idle("ses_bad", "Upgrade Postgres driver", 70), status: "error" },
  ...Array.from({ length: 41 }, (_, n) => ended(n)),
];
