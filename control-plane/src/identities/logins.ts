// Login attempts: from the address for the browser until the account is linked or the attempt has failed. An
// attempt belongs to the user who started it; for everybody else it does not exist.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  type LoginRecord,
  type identityActions,
} from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import type { Caller } from "../dispatch/caller.ts";
import { onHost, type HostHandler, type ReadContext } from "../dispatch/handler.ts";
import { askHost, readFromHost, type HostServices } from "../hosts/ask-host.ts";
import type { TenantTransaction } from "../postgres/database.ts";
import { query, type TenantSql } from "../postgres/statement.ts";
import { holdOwner, requireConsent } from "./consent.ts";
import { makeOwnerId, requireUser } from "./owner.ts";
import * as store from "./store.ts";

type Actions = typeof identityActions;

const lostMessage =
  "The host no longer knows this attempt, for instance because its daemon was restarted. Call start_agent_login again.";
const overtakenMessage = "Another attempt to link this account was started.";

export const startLogin: HostHandler<Actions["start_agent_login"], HostServices> = onHost({
  async prepare({ sql, caller }, { instanceId, kind, email }) {
    const { id, userId, ownerId } = await requireConsent(sql, caller, instanceId, "subscription");
    const made = await sql.first(store.insertLogin, sql.organizationId, id, userId, ownerId, kind);
    // The host makes a home for the account now, which has to be removed if the user leaves.
    sql.later(store.keepAccount, sql.organizationId, id, ownerId, userId, kind, false);
    const loginId = formatId("login", made!.login_id);
    const payload = { loginId, ownerId, kind, email: email || null };
    return { instanceId, isOnline: true, userId, payload };
  },
  ask: (context, _input, { payload, instanceId, isOnline }) =>
    askHost(context, { instanceId, isOnline }, "start_login", payload),
  async conclude({ sql }, { instanceId, kind }, { userId, payload }, answer) {
    const { organizationId } = sql;
    const { ownerId } = payload;
    const instance = parseId("instance", instanceId)!;
    const id = parseId("login", payload.loginId)!;
    // The user may have been removed, with the home, before the host began the login.
    const isOwed = (await holdOwner(sql, userId))?.ownerId !== ownerId;
    sql.later(store.keepAccount, organizationId, instance, ownerId, userId, kind, isOwed);
    const others = [organizationId, instance, ownerId, kind, id] as const;
    sql.later(store.endOtherLogins, ...others, overtakenMessage);
    const { flow, authorizationUrl, userCode } = answer;
    const row = await sql.first(
      store.setLoginFlow,
      organizationId,
      id,
      flow,
      authorizationUrl,
      userCode,
    );
    if (!row) throw notFound("login");
    if (!isShownAddress(authorizationUrl)) {
      throw new Refusal("login_failed", "The host named an address that is no page to log in on.");
    }
    return loginRecord(row);
  },
  async undo({ sql }, _input, { payload }) {
    await sql.rows(store.deleteLogin, sql.organizationId, parseId("login", payload.loginId)!);
  },
});

export async function pollLogin(
  context: ReadContext & HostServices,
  { loginId }: { loginId: string },
): Promise<LoginRecord> {
  const { sql } = context;
  const row = await findLogin(sql, context.caller, loginId);
  // The host may have completed the login just before the attempt expired.
  if (!row.is_open || !row.reachable) return loginRecord(row);
  const state = await readState(context, row);
  return loginRecord((await storeState(sql, row.login_id, state)) ?? row);
}

/**
 * The code is sent to the host and stored nowhere: it is not part of the intent, which is stored.
 */
export const submitLogin: HostHandler<Actions["submit_agent_login"], HostServices> = onHost({
  async prepare({ sql, caller }, { loginId }) {
    const row = await findLogin(sql, caller, loginId);
    if (row.flow === "device_code") {
      throw new Refusal(
        "wrong_login_flow",
        "This attempt takes no code: type its userCode into the page, and call poll_agent_login until it is done.",
        { nextAction: "poll_agent_login" },
      );
    }
    if (row.status === "error") {
      throw new Refusal("login_failed", row.error ?? "The attempt has failed.", {
        nextAction: "start_agent_login",
      });
    }
    const { owner_id: ownerId, instance_id, reachable: isOnline, status } = row;
    const host = { instanceId: formatId("instance", instance_id), isOnline };
    return { ...host, ownerId, isDone: status === "done" };
  },
  async ask(context, { loginId, code }, { ownerId, isDone, ...host }) {
    if (isDone) return undefined;
    try {
      const payload = { loginId, ownerId, code };
      const state = await askHost(context, host, "submit_login", payload);
      return { ...state, error: state.error && withoutCode(state.error, code) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === "not_found") throw new Refusal("not_found", lostMessage);
      throw new Refusal(error.code, withoutCode(error.message, code), error.details);
    }
  },
  async conclude({ sql, caller }, { loginId }, _intent, state) {
    const id = parseId("login", loginId)!;
    const row = state && (await storeState(sql, id, state));
    return loginRecord(row ?? (await findLogin(sql, caller, loginId)));
  },
  async undo({ sql }, { loginId }, _intent, { code, message }) {
    if (code !== "login_failed" && code !== "not_found") return;
    await storeState(sql, parseId("login", loginId)!, failed(message));
  },
});

/** Agents may repeat the code in their messages, which are stored. */
const withoutCode = (message: string, code: string) => message.replaceAll(code, "…");

type LoginState = CommandResultOf<"read_login">;

const failed = (error: string): LoginState => ({
  status: "error",
  error,
  account: null,
  expiresAt: null,
});

/** The state on the host; pending if the host cannot answer. */
async function readState(
  context: ReadContext & HostServices,
  { login_id, instance_id, owner_id: ownerId }: store.LoginRow,
): Promise<LoginState> {
  const host = { instanceId: formatId("instance", instance_id), isOnline: true };
  const loginId = formatId("login", login_id);
  try {
    return await readFromHost(context, host, "read_login", { loginId, ownerId });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "not_found") return failed(lostMessage);
    return { status: "pending", error: null, account: null, expiresAt: null };
  }
}

/** Undefined if the attempt is still pending, or if it was over before. */
async function storeState(
  sql: TenantSql | TenantTransaction,
  id: string,
  { status, error, account, expiresAt }: LoginState,
): Promise<store.LoginRow | undefined> {
  if (status === "pending") return undefined;
  const key = [sql.organizationId, id] as const;
  const [[row]] = await sql.together(
    query(store.finishLogin, ...key, status, error, account, expiresAt),
    query(store.linkAccount, ...key),
  );
  return row;
}

/** Throws `not_found` if the caller has not started this attempt as the member that they are now. */
async function findLogin(sql: TenantSql, caller: Caller, loginId: string) {
  const id = parseId("login", loginId);
  const row = id && (await sql.first(store.selectLogin, sql.organizationId, id));
  if (!row || row.flow === null) throw notFound("login");
  const userId = requireUser(caller);
  const { user_id, owner_id, joined_at } = row;
  const isOwn =
    user_id === userId &&
    joined_at !== null &&
    owner_id === makeOwnerId({ user_id, created_at: joined_at });
  if (!isOwn) throw notFound("login");
  return row;
}

/** A host could name any address. Loopback ones are those of stand-ins in tests. */
const isShownAddress = (url: string) => /^https:\/\/|^http:\/\/127\.0\.0\.1[:/]/.test(url);

function loginRecord(row: store.LoginRow): LoginRecord {
  return {
    loginId: formatId("login", row.login_id),
    instanceId: formatId("instance", row.instance_id),
    kind: row.kind,
    flow: row.flow!,
    authorizationUrl: row.authorization_url!,
    userCode: row.user_code,
    status: row.status,
    error: row.error,
    account: row.account,
    expiresAt: row.expires_at,
  };
}
