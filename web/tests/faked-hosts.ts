// Records of hosts for tests of what the page of a host does with them.
import { openFaked, type FakedService } from "./faked-service.ts";

export const instanceId = "ins_1";
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000 + 3_600_000).toISOString();
export const times = { ago, inDays };

const agent = (kind: string, version: string | null, code?: string, message = "") => ({
  kind,
  installed: version !== null,
  version,
  ready: version !== null && code === undefined,
  problems: code === undefined ? [] : [{ code, message }],
});

/** An online host with all that a host can show. */
export const host = {
  instanceId,
  name: "builder-fra-2",
  status: "online",
  statusReason: null as string | null,
  host: { hostname: "fra-2.tidewater.internal", os: "Debian GNU/Linux 13", arch: "x64" },
  daemonVersion: "1.4.0",
  agents: [
    agent("opencode", "1.18.33"),
    agent("claude_code", "2.1.197"),
    agent("codex", "0.166.0", "not_logged_in", "codex is not logged in on this host."),
  ],
  activeSessionCount: 1,
  lastSeenAt: ago(14),
  createdAt: ago(9_000),
  pairedAt: ago(8_999) as string | null,
  roots: [
    { path: "/srv/src", type: "folder", branch: null, remote: null, isGitRepository: false },
    {
      path: "/srv/payouts",
      type: "repository",
      branch: "main",
      remote: "https://github.com/tidewater/payouts",
      isGitRepository: true,
    },
  ],
  codeHostingCli: { installed: true, loggedIn: true, account: "tidewater-ci" },
  warnings: [{ code: "git_outdated", message: "Git 2.39.5 on this host is old. Update it." }],
  operations: [] as object[],
  activeSessions: [{ sessionId: "ses_1", agentKind: "claude_code" }],
  fallbackChain: [
    { kind: "claude_code", providerId: null, modelId: null },
    { kind: "codex", providerId: "openai", modelId: "gpt-5.1-codex" },
    { kind: "opencode", providerId: null, modelId: null },
  ],
  fallbackThreshold: 90,
};

export const account = {
  user: { userId: "usr_1", name: "Mira Okafor" },
  kind: "claude_code",
  way: "subscription" as string | null,
  authenticated: true,
  account: "mira@tidewater.example" as string | null,
  plan: "max" as string | null,
  expiresAt: inDays(3) as string | null,
  utilizationAt: null,
  utilization: 41.2 as number | null,
  warning: "Call start_agent_login with the kind claude_code again to renew it.",
};

export const operation = (over: object) => ({
  operationId: "op_1",
  type: "install_agent",
  subject: "codex 0.167.0",
  state: "running",
  step: "downloading",
  percent: 42,
  startedAt: ago(1),
  ...over,
});

const everything = [
  "instances:view",
  "instances:edit",
  "instances:delete",
  "settings:edit",
  "sessions:view",
  "sessions:edit",
];

/** The page of this host. `shown` can be changed while the page is open; it is read again with each call. */
export async function openHost(
  width?: number,
  permissions: readonly string[] = everything,
): Promise<FakedService & { shown: typeof host; openPage: () => Promise<void> }> {
  const faked = await openFaked({
    ...(width !== undefined && { width }),
    length: 0,
    entryAt: () => {
      throw new Error("There is no log here.");
    },
  });
  const shown = structuredClone(host);
  Object.assign(faked.answers, {
    whoami: () => ({ permissions, user: account.user }),
    get_instance: () => shown,
    list_agent_identities: () => ({
      identities: [account],
      separated: true,
      sealingKey: null,
      live: shown.status === "online",
      takenAt: ago(15),
    }),
    list_parked_sessions: () => ({
      parkedSessions: [
        {
          sessionId: "ses_old",
          title: "Spike: batch SEPA files",
          branch: "hawser/spike-batch-sepa",
          parkedAt: ago(60),
          sizeBytes: 48_300_000,
          expiresAt: "2027-11-25T10:00:00Z",
        },
      ],
      truncated: false,
    }),
  });
  return { ...faked, shown, openPage: () => faked.open(`/hosts/${instanceId}`) };
}
