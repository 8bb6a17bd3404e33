// The caller as the dispatcher sees it: an organization, and what the key allows.
import {
  formatId,
  type Refusal,
  type Fallback,
  type FallbackEntry,
  type GrantLevel,
  type Permission,
  type SessionMode,
} from "@hawser/contract";

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
  /** The sign-in of a member who calls without a key. `apiKeyId` is then the member's key that has no secret. */
  signIn?: CallersSignIn;
  /** Whether single sessions were granted to the user, and the key may use that. */
  usesGrants?: boolean;
  /** The caller reaches only what was granted to the user at this level or a higher one; undefined: everything. */
  grantedAt?: GrantLevel;
  /** The schedule or trigger for which the service calls with this key; undefined if the key's holder calls. */
  schedule?: CallingSchedule;
  /** The turn for whose continuation the service calls with this key. */
  continued?: ContinuedTurn;
}

export interface CallersSignIn {
  signInId: string;
  /** How long before the look-up of this caller the member proved who they are, by the clock of the database. */
  authenticatedForMs: number;
  /** Whether the organization's identity provider has signed the member in. It then says nothing about the account. */
  isOfProvider: boolean;
}

/** A browser's sign-in, with what the page has named in its request. */
export interface NamedSignIn {
  token: string;
  organizationId: string;
  /** The person whose page it is, as callers see the id; undefined if the request names nobody. */
  person?: string | undefined;
}

/** What a request says about its caller. */
export interface Credentials {
  authorization?: string | undefined;
  /** A browser's sign-in, and what the request names. Ignored beside an `authorization`. */
  signIn?: NamedSignIn;
  /** Why the browser's sign-in does not count for this request. */
  refused?: Refusal;
}

export interface CallingSchedule {
  type: "schedule" | "trigger";
  /** As callers see it. */
  id: string;
  name: string;
  /** Used instead of the organization's default; null: that default. */
  mode: SessionMode | null;
  /** The key that the host had when the schedule was saved; null: it was not paired; undefined: not recorded. */
  hostKey?: string | null | undefined;
  /** Used instead of the host's own; null: the host's own. */
  fallbackChain: FallbackEntry[] | null;
}

/** A turn that a used-up quota ended, as the fork that continues it is made. */
export interface ContinuedTurn {
  turnId: string;
  /** Why the fork has another kind than its original. */
  fallback: Fallback;
  /** The model that the fork uses; default: the kind's own. */
  providerId?: string;
  modelId?: string;
}

/** The caller, as a host's log and the audit trail name it. */
export function actorOf({ userId, apiKeyId }: Caller): { type: string; id: string } {
  return userId
    ? { type: "user", id: formatId("user", userId) }
    : { type: "api_key", id: formatId("apiKey", apiKeyId) };
}
