// Who is calling, as far as the dispatcher cares: an organization, and what the key allows.
import type { Permission } from "@hawser/contract";

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
