// What an exposure reaches: one session that Hawser manages in opencode, or all of them, with the sessions of
// their sub-agents and with their directories. Sessions that the host's user has made without Hawser are never
// reached.
import type { ExposureScope } from "@hawser/host-protocol";
import type { AgentServer } from "../../drivers/driver.ts";
import { createApi } from "../../drivers/opencode/api.ts";
import type { DrivenSession } from "../../journal/driven-sessions.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Reach } from "./judge.ts";

/** Scopes of exposures of opencode. */
export type OpencodeScope = Exclude<ExposureScope, { kind: "port" }>;

export interface ReachedSession {
  /** Hawser's id. */
  sessionId: string;
  /** opencode's id. */
  handle: string;
  directory: string;
}

export interface ExposureReach extends Reach {
  /** Whether the session of a scope has ended. False for a scope of the whole host. */
  hasEnded(): boolean;
  /** The session that was started last; undefined if none is reached. */
  newest(): ReachedSession | undefined;
  /** The managed session, if this is the id of a session that is reached and not of a sub-agent's. */
  find(id: string): ReachedSession | undefined;
  /** Finds out from opencode whose sub-agent's session this is. Needed once before `directoryOf` knows it. */
  learn(id: string): Promise<void>;
  /** Records whose sub-agent's session this is. */
  addChild(child: { id: string; parentID: string }): void;
}

const askMs = 5_000;
/** How long the list of the host's sessions is used. */
const listedMs = 200;
/** Sub-agents of sub-agents; opencode is configured to have one level. */
const deepest = 4;
/** Sessions whose parent is remembered. */
const mostKnown = 10_000;

export function createReach(
  scope: OpencodeScope,
  { driven }: Pick<Journal, "driven">,
  server: () => AgentServer | undefined,
): ExposureReach {
  /** Parents of opencode's sessions, which never change; null if a session has none. */
  const parents = new Map<string, string | null>();

  let listed: { at: number; sessions: ReachedSession[] } | undefined;
  const reached = (): ReachedSession[] => {
    if (scope.kind === "session")
      return [driven.get(scope.sessionId) ?? []].flat().flatMap(asReached);
    const now = performance.now();
    // Asked for each event: a host with many sessions would do little else.
    if (!listed || now - listed.at > listedMs) {
      listed = { at: now, sessions: driven.list().flatMap(asReached) };
    }
    return listed.sessions;
  };

  const find = (id: string) => reached().find(({ handle }) => handle === id);

  /** undefined if a parent in between is not known. */
  function rootOf(id: string): string | undefined {
    let at = id;
    for (let depth = 0; depth <= deepest; depth++) {
      if (find(at)) return at;
      const parent = parents.get(at);
      if (parent === undefined || parent === null) return undefined;
      at = parent;
    }
    return undefined;
  }

  function remember(id: string, parent: string | null): void {
    if (parents.size >= mostKnown) parents.clear();
    parents.set(id, parent);
  }

  return {
    get directories() {
      return [...new Set(reached().map(({ directory }) => directory))];
    },
    directoryOf(id) {
      const root = rootOf(id);
      return root === undefined ? undefined : find(root)?.directory;
    },
    // Ids begin with the time at which they were made.
    newest: () => reached().toSorted((a, b) => (a.sessionId < b.sessionId ? 1 : -1))[0],
    hasEnded: () => scope.kind === "session" && reached().length === 0,
    find,
    addChild: ({ id, parentID }) => remember(id, parentID),
    async learn(id) {
      const current = server();
      let at: string | null = id;
      for (let depth = 0; at !== null && depth <= deepest; depth++) {
        if (find(at)) return;
        const known: string | null | undefined = parents.get(at);
        if (known === undefined) {
          if (!current) return;
          const found = await parentOf(current, at);
          if (found === undefined) return;
          remember(at, found);
          at = found;
        } else at = known;
      }
    },
  };
}

/** Sessions of other kinds, and those that start or end, are not reached. */
function asReached({ sessionId, kind, handle, directory, state }: DrivenSession): ReachedSession[] {
  const isUsable = state === "active" || state === "detached" || state === "error";
  if (kind !== "opencode" || handle === null || !isUsable) return [];
  return [{ sessionId, handle, directory }];
}

/** undefined if opencode does not know the session, or does not answer. */
async function parentOf(server: AgentServer, id: string): Promise<string | null | undefined> {
  if (!/^ses_[0-9A-Za-z]+$/.test(id) || !server.isListening()) return undefined;
  try {
    const api = createApi(server.port, server.password);
    const found = await api.request("GET", `/session/${id}`, { deadlineMs: askMs });
    const { parentID } = found as { parentID?: string };
    return parentID ?? null;
  } catch {
    return undefined;
  }
}
