// Commands about agent accounts: the logins and linked secrets of people on this host, each in a home of its own.
import {
  IdentityWay,
  Instant,
  LinkWay,
  LinkableKind,
  LoginFlow,
  SealingKey,
} from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";

/**
 * Names a person for as long as they are a member: `<userId>.<milliseconds of joining>`. Somebody who leaves
 * and joins again is another owner, so that nobody can use a login by adding its user again.
 */
export const OwnerId = z.string().regex(/^usr_\w{1,60}\.\d{1,16}$/);
export type OwnerId = z.infer<typeof OwnerId>;

/** An account as the host knows it, without credentials. */
export const HostIdentity = z.strictObject({
  ownerId: OwnerId,
  kind: LinkableKind,
  /** Missing from daemons of a former version. */
  way: IdentityWay.optional(),
  authenticated: z.boolean(),
  account: z.string().nullable(),
  plan: z.string().nullable(),
  expiresAt: Instant.nullable(),
  /** How much of the account's quota is used, in percent; null if unknown. */
  utilization: z.number().nullable(),
  /** When the agent reported that. */
  utilizationAt: Instant.nullable(),
  /** Why the login could not be checked, as a sentence; `authenticated` is then as it was before. */
  problem: z.string().nullable(),
});
export type HostIdentity = z.infer<typeof HostIdentity>;

const LoginState = z.strictObject({
  status: z.enum(["pending", "done", "error"]),
  error: z.string().nullable(),
  account: z.string().nullable(),
  expiresAt: Instant.nullable(),
});

export const identityCommands = {
  list_identities: {
    effect: "reads",
    payload: z.strictObject({}),
    result: z.strictObject({
      identities: z.array(HostIdentity),
      /** Whether each account's agents run as a Unix user of their own. */
      separated: z.boolean(),
      /** Missing from daemons of a former version. */
      sealingKey: SealingKey.optional(),
    }),
    deadlineMs: 20_000,
  },
  /** Begins a login with the account of one person. It ends another attempt of that person with this kind. */
  start_login: {
    effect: "changes",
    payload: z.strictObject({
      loginId: z.string(),
      ownerId: OwnerId,
      kind: LinkableKind,
      email: z.string().nullable(),
    }),
    result: z.strictObject({
      flow: LoginFlow,
      authorizationUrl: z.string(),
      userCode: z.string().nullable(),
    }),
    deadlineMs: 28_000,
    refusals: ["agent_not_ready", "login_failed"],
  },
  /** Refused with `not_found` if the host has no such attempt, for instance after a restart of its daemon. */
  read_login: {
    effect: "reads",
    payload: z.strictObject({ loginId: z.string(), ownerId: OwnerId }),
    result: LoginState,
    deadlineMs: 5_000,
    refusals: ["not_found"],
  },
  /** The code is stored nowhere. Answered when the login has succeeded or failed, or after 20 seconds. */
  submit_login: {
    effect: "changes",
    payload: z.strictObject({ loginId: z.string(), ownerId: OwnerId, code: z.string() }),
    result: LoginState,
    deadlineMs: 25_000,
    refusals: ["not_found", "login_failed", "wrong_login_flow"],
  },
  /**
   * Links a secret as the account of one person, in place of an earlier account. The secret is sealed for this
   * host, and in clear it is stored only in the account's home. Refused with `login_failed` if it cannot be opened.
   */
  link_identity: {
    effect: "changes",
    payload: z.strictObject({
      ownerId: OwnerId,
      kind: LinkableKind,
      sealedSecret: z.string(),
      way: LinkWay,
      baseUrl: z.string().nullable(),
      region: z.string().nullable(),
      projectId: z.string().nullable(),
    }),
    /** The account's name to show: it does not give the secret away. */
    result: z.strictObject({ account: z.string() }),
    deadlineMs: 28_000,
    refusals: ["agent_not_ready", "login_failed"],
  },
  /** Ends the sessions' agents of this account, logs it out and deletes its home. Succeeds if there is none. */
  unlink_identity: {
    effect: "changes",
    /** Every kind if it is null. */
    payload: z.strictObject({ ownerId: OwnerId, kind: LinkableKind.nullable() }),
    result: z.strictObject({ unlinked: z.boolean() }),
    deadlineMs: 25_000,
  },
} as const satisfies Record<string, CommandKind>;
