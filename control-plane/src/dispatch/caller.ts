// The caller as the dispatcher sees it: an organization, and what the key allows.
import { formatId, type FallbackEntry, type Permission } from "@hawser/contract";

export interface Caller {
  organizationId: string;
  organizationName: string;
  apiKeyId: string;
  /** `agent`: the agent of one session holds the key, which allows less than its permissions say. */
  scope: "user" | "organization" | "agent";
  /** The user the key belongs to; null for an organization's key. */
  userId: string | null;
  /** When that user became a member. */
  joinedAt: string | null;
  /** The session whose agent holds the key; the key reaches only it, its descendants and their host. */
  sessionId: string | null;
  permissions: ReadonlySet<Permission>;
  /** The schedule for which the service calls with this key; undefined if the key's holder calls. */
  schedule?: CallingSchedule;
}

export interface CallingSchedule {
  /** As callers see it. */
  scheduleId: string;
  name: string;
  /** Used instead of the host's own; null: the host's own. */
  fallbackChain: FallbackEntry[] | null;
}

/** The caller, as a host's log and the audit trail name it. */
export function actorOf({ userId, apiKeyId }: Caller): { type: string; id: string } {
  return userId
    ? { type: "user", id: formatId("user", userId) }
    : { type: "api_key", id: formatId("apiKey", apiKeyId) };
}
