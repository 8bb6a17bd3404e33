// What the service answers to an organization with two hosts and no session.
import { session, sessionId, type FakedService } from "./faked-service.ts";

const agent = (kind: string, ready: boolean) => ({
  kind,
  installed: true,
  version: "1.0.0",
  ready,
  problems: ready ? [] : [{ code: "not_logged_in", message: `${kind} is not logged in.` }],
});
export const host = (instanceId: string, name: string, status = "online") => ({
  instanceId,
  name,
  status,
  statusReason: null,
  host: { hostname: `${name}.local`, os: "linux", arch: "x64" },
  daemonVersion: "0.1.0",
  agents: [agent("opencode", true), agent("codex", false)],
  activeSessionCount: 0,
  lastSeenAt: null,
  createdAt: session.createdAt,
});
export const repository = (path: string) => ({
  path,
  isGitRepository: true,
  branch: "main",
  remote: null,
});
export const kinds = [agent("opencode", true), agent("codex", false)].map(({ ready, ...each }) => ({
  ...each,
  authenticated: ready,
  capabilities: [],
  options: [],
  variants: [],
  modes: [],
  commands: [],
}));

const hosts = [host("ins_1", "builder"), host("ins_2", "laptop")];

export const firstRun: FakedService["answers"] = {
  search_requests: () => ({ requests: [], nextCursor: null }),
  search_sessions: () => ({ sessions: [], nextCursor: null, counts: null }),
  search_instances: () => ({ instances: hosts, nextCursor: null }),
  get_instance: ({ instanceId }) => ({
    ...hosts.find((each) => each.instanceId === instanceId),
    roots: [],
    operations: [],
    warnings: [],
    activeSessions: [],
    fallbackChain: [],
    fallbackThreshold: 90,
  }),
  list_directories: ({ instanceId }) => ({
    roots: [
      {
        ...repository("/srv"),
        isGitRepository: false,
        type: "folder",
        children: ["one", "two"].map((name) => repository(`/srv/${String(instanceId)}/${name}`)),
        truncated: false,
      },
    ],
    live: true,
    takenAt: null,
  }),
  list_agent_kinds: () => ({ agentKinds: kinds, live: true, takenAt: null }),
  list_agent_identities: () => ({
    identities: [],
    separated: null,
    sealingKey: null,
    live: true,
  }),
  list_models: () => ({
    agentKind: "opencode",
    providers: [{ providerId: "anthropic", models: [{ modelId: "large", variants: [] }] }],
    defaultModel: null,
  }),
  start_session: () => session,
  send_prompt: () => ({ sessionId, turnId: "t", messageId: "own", queued: false }),
};
