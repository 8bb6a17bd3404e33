// Every refusal that a caller can receive: its HTTP status, its meaning and whether to retry. Callers
// match on the code, never on the message. A published code is never renamed.

/** `never`: the same call fails again. `later`: wait, then the same call may pass. `changed`: only after the state it names has changed. */
export type RetryAdvice = "never" | "later" | "changed";

interface RefusalKind {
  status: number;
  retry: RetryAdvice;
  meaning: string;
}

export const refusals = {
  invalid_input: {
    status: 400,
    retry: "never",
    meaning: "The body does not match the action's schema; `fields` names each wrong field.",
  },
  unauthenticated: {
    status: 401,
    retry: "never",
    meaning: "The API key is missing, unknown, altered, expired or revoked.",
  },
  forbidden: {
    status: 403,
    retry: "never",
    meaning: "The key is valid but lacks the permission that the action needs.",
  },
  unknown_action: { status: 404, retry: "never", meaning: "No action has this name." },
  unknown_path: { status: 404, retry: "never", meaning: "There is nothing at this path." },
  not_found: {
    status: 404,
    retry: "never",
    meaning: "No record of the caller's organization has this id.",
  },
  method_not_allowed: {
    status: 405,
    retry: "never",
    meaning: "The path exists but not for this HTTP method.",
  },
  payload_too_large: {
    status: 413,
    retry: "never",
    meaning:
      "The body is larger than 8 MiB, a file larger than 16 MiB, or a host's blob larger than 64 MiB.",
  },
  rate_limited: {
    status: 429,
    retry: "later",
    meaning: "The key made too many calls; `retryAfterMs` says how long to wait.",
  },
  concurrency_limited: {
    status: 429,
    retry: "later",
    meaning:
      "The key or its organization has too much open at once: streams, or bytes of unanswered calls. Close some streams, or wait for answers.",
  },
  quota_exceeded: {
    status: 429,
    retry: "later",
    meaning:
      "The organization and its hosts have used up their daily quota of bytes; `retryAfterMs` says when the next day begins.",
  },
  internal: {
    status: 500,
    retry: "later",
    meaning: "The service failed; `incidentId` finds the cause in its logs.",
  },
  unavailable: {
    status: 503,
    retry: "later",
    meaning: "A part that the service depends on, such as its database, does not answer.",
  },
  other_person: {
    status: 409,
    retry: "changed",
    meaning:
      "A page of the dashboard belongs to another person than the one who is signed in with the browser now, so nothing was done. Reload the page, or sign in again as its person.",
  },
  idempotency_mismatch: {
    status: 409,
    retry: "never",
    meaning: "The idempotency key was used before with another body.",
  },
  in_progress: {
    status: 409,
    retry: "later",
    meaning:
      "It is not known yet whether the call takes effect: the host has not answered, or an earlier call with the same idempotency key is not finished. The message says whether to call again, or which action shows the effect.",
  },
  sign_in_again: {
    status: 403,
    retry: "changed",
    meaning:
      "The action needs a sign-in of the last five minutes. Confirm who you are, then call again.",
  },
  sign_in_first: {
    status: 409,
    retry: "changed",
    meaning:
      "Only the person of an account can do this, in a browser. Sign in there, then try again.",
  },
  passkeys_unavailable: {
    status: 409,
    retry: "changed",
    meaning: "Browsers make no passkeys for this service, because its address is an IP address.",
  },
  provider_failed: {
    status: 409,
    retry: "changed",
    meaning:
      "The organization's identity provider does not answer, or not as it has to; the message says why.",
  },
  provider_untested: {
    status: 409,
    retry: "changed",
    meaning:
      "Single sign-on can be required only after somebody has signed in with these settings of the provider.",
  },
  already_accepted: {
    status: 409,
    retry: "never",
    meaning: "The invitation was accepted, so it cannot be withdrawn.",
  },
  user_key_required: {
    status: 409,
    retry: "never",
    meaning: "The action acts for a user, and this key belongs to an organization.",
  },
  last_owner: {
    status: 409,
    retry: "changed",
    meaning:
      "An organization must have at least one owner, and one who can sign in if its identity provider fails.",
  },
  role_in_use: {
    status: 409,
    retry: "changed",
    meaning: "Members have the role; give them another one first.",
  },
  already_exists: {
    status: 409,
    retry: "changed",
    meaning: "Something with this name or path exists already.",
  },
  limit_reached: {
    status: 409,
    retry: "changed",
    meaning:
      "The organization has the maximum of what the call would add; the message says how many.",
  },
  schedule_running: {
    status: 409,
    retry: "changed",
    meaning: "An earlier run of the scheduled prompt has not ended.",
  },
  webhook_disabled: {
    status: 409,
    retry: "changed",
    meaning: "The webhook is switched off. Switch it on with update_webhook.",
  },
  host_offline: { status: 409, retry: "changed", meaning: "The instance's host is not connected." },
  host_refused: {
    status: 409,
    retry: "changed",
    meaning: "The host's policy or state forbids it; the message says why.",
  },
  daemon_outdated: {
    status: 409,
    retry: "changed",
    meaning: "The host's daemon is too old to know this command; update it.",
  },
  agent_not_ready: {
    status: 409,
    retry: "changed",
    meaning:
      "The agent kind is not installed, not logged in or over its quota, and no fallback is left.",
  },
  capability_missing: {
    status: 409,
    retry: "never",
    meaning: "The session's agent kind cannot do this.",
  },
  not_a_repository: {
    status: 409,
    retry: "changed",
    meaning:
      "The directory is not a git repository. For a diff: the session has neither a commit nor a copy to compare with; the message says why.",
  },
  project_config_present: {
    status: 409,
    retry: "changed",
    meaning:
      "The directory contains configuration of an agent or of git that would run a program without a request.",
  },
  mode_not_allowed: {
    status: 409,
    retry: "changed",
    meaning:
      "The organization's `highestMode` or the host's policy file allows only a narrower mode; the message says which, and who can change it.",
  },
  session_ended: {
    status: 409,
    retry: "never",
    meaning: "The session has ended and accepts no further work.",
  },
  turn_running: {
    status: 409,
    retry: "changed",
    meaning: "A turn is running; wait until it has finished, or stop it.",
  },
  queue_full: {
    status: 409,
    retry: "later",
    meaning:
      "The session has the maximum number of waiting prompts. Wait until one has started, or discard all of them with abort_session.",
  },
  prompt_changed: {
    status: 409,
    retry: "changed",
    meaning:
      "The prompt was changed since the caller read it, so the new text was not saved. Read it again with list_queued_prompts.",
  },
  prompt_held: {
    status: 409,
    retry: "changed",
    meaning: "Somebody else edits the prompt; wait until they have finished.",
  },
  journal_full: {
    status: 409,
    retry: "later",
    meaning: "The host's journal is full; it accepts work again when its entries are applied.",
  },
  nothing_deleted: {
    status: 409,
    retry: "changed",
    meaning: "None of the sessions could be deleted; `fields` has the reason for each.",
  },
  wrong_request_type: {
    status: 409,
    retry: "never",
    meaning: "The request is a question but was answered as a permission, or the reverse.",
  },
  account_not_yours: {
    status: 403,
    retry: "never",
    meaning:
      "The session uses the agent account of another user, and the call needs that user; the message says what can be shared. fork_session continues its conversation with an account of your own.",
  },
  login_not_allowed: {
    status: 409,
    retry: "changed",
    meaning:
      "The organization's setting `allowedLogins` does not allow this login, or somebody else may have a key of the user's; the message says which.",
  },
  login_failed: {
    status: 409,
    retry: "never",
    meaning: "The login attempt failed; start a new one.",
  },
  wrong_login_flow: {
    status: 409,
    retry: "never",
    meaning: "This login attempt needs no code; the host completes it by itself.",
  },
} as const satisfies Record<string, RefusalKind>;

export type RefusalCode = keyof typeof refusals;

/** Refusals that every action can give. No action lists them. */
export const commonRefusals = [
  "invalid_input",
  "unauthenticated",
  "forbidden",
  "payload_too_large",
  "rate_limited",
  "concurrency_limited",
  "other_person",
  "idempotency_mismatch",
  "in_progress",
  "internal",
  "unavailable",
] as const satisfies readonly RefusalCode[];

/** Refusals that every action with the reach `host` can give. */
export const hostRefusals = [
  "host_offline",
  "host_refused",
  "daemon_outdated",
] as const satisfies readonly RefusalCode[];

/** A wrong field: its path in the body, and what is wrong. */
export interface FieldError {
  field: string;
  message: string;
}

export interface RefusalDetails {
  fields?: FieldError[];
  retryAfterMs?: number;
  incidentId?: string;
  /** The session that the call made, if there is one nevertheless. */
  sessionId?: string;
  /** The action that shows what happened, or that mends it. */
  nextAction?: string;
  /** Advice for this call, if it differs from that of its code. */
  retry?: RetryAdvice;
}

/** A refusal. Handlers throw it; only the dispatcher turns it into an answer. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly details: RefusalDetails;

  constructor(code: RefusalCode, message: string, details: RefusalDetails = {}) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.details = details;
  }
}

/** The body of every refusal, on every transport. */
export interface ErrorBody {
  error: {
    code: RefusalCode;
    message: string;
    retry: RetryAdvice;
    /** Identifies the call in the service's logs. */
    callId?: string;
  } & RefusalDetails;
}

export function errorBody({ code, message, details }: Refusal, callId?: string): ErrorBody {
  const { retry } = refusals[code];
  // The details precede: they may have other advice about retries.
  return { error: { code, message, retry, ...details, ...(callId !== undefined && { callId }) } };
}

/** The action that lists the records of a kind. */
const listedBy = {
  instance: "list_instances",
  session: "list_sessions",
  request: "list_pending_requests",
  schedule: "list_scheduled_prompts",
  trigger: "list_triggers",
  member: "list_members",
  role: "list_roles",
  "API key": "list_api_keys",
  webhook: "list_webhooks",
  delivery: "list_webhook_deliveries",
  exposure: "list_exposures",
  invitation: "list_invitations",
  "sign-in": "list_sign_ins",
  "connected identity": "list_connected_identities",
} as const;

/**
 * Answer to an unknown id and to another organization's id, word for word the same. It names the action that
 * lists the ids, if there is one. A login attempt of another user is answered in the same way.
 */
export function notFound(
  what: keyof typeof listedBy | "file" | "blob" | "login" | "passkey",
): Refusal {
  if (what === "login") {
    return new Refusal(
      "not_found",
      "You have started no login attempt with this id. Call start_agent_login to begin one.",
    );
  }
  const action = (listedBy as Record<string, string>)[what];
  const key = what === "role" ? "name" : what === "connected identity" ? "subject" : "id";
  return new Refusal(
    "not_found",
    `There is no ${what} with this ${key} in your organization.${action ? ` ${action} lists the ${key}s.` : ""}`,
  );
}
