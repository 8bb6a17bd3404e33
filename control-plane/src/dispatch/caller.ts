// Who is calling, as far as the dispatcher cares: an organization, and what the key allows.
import { formatId, type Permission } from "@hawser/contract";

export interface Caller {
  organizationId: string;
  organizationName: string;
  apiKeyId: string;
  /** `agent`: the key is held by the agent of one session, and is narrower than its permissions say. */
  scope: "user" | "organization" | "agent";
  /** The user the key belongs to; null for an organization's key. */
  userId: string | null;
  /** The session whose agent holds the key. */
  sessionId: string | null;
  permissions: ReadonlySet<Permission>;
}

/** Who asks, in the words that a host's log and the audit trail use. */
export function actorOf({ userId, apiKeyId }: Caller): { type: string; id: string } {
  return userId
    ? { type: "user", id: formatId("user", userId) }
    : { type: "api_key", id: formatId("apiKey", apiKeyId) };
}
