// The actions about the identity provider of an organization. Whoever sets the provider decides who signs in as whom,
// so it needs every permission.
import { randomUUID } from "node:crypto";
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  permissionNames,
  type InputOf,
  type SignInSettingsRecord,
  type peopleActions,
} from "@hawser/contract";
import type { Authenticator } from "../access/authenticate.ts";
import { beginRoleChange } from "../access/caller-now.ts";
import { chosenRole } from "../access/roles.ts";
import type { Caller } from "../dispatch/caller.ts";
import { onHost, type Handler } from "../dispatch/handler.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { refuseStranding } from "./break-glass.ts";
import type { Providers } from "./provider.ts";
import { ProviderRefusal, type ProviderRefusalCode } from "./provider-refusal.ts";
import { clientSecretPlace, redirectUriOf } from "./provider-settings.ts";
import * as store from "./provider-store.ts";
import type { Sealing } from "./sealing.ts";

export interface ProviderServices {
  authenticator: Pick<Authenticator, "forget">;
  providers: Pick<Providers, "begin">;
  sealing: Sealing;
  /** The address of this service, for links. */
  baseUrl: string;
}

type Actions = typeof peopleActions;
type Update = InputOf<Actions["update_sign_in_settings"]>;
type ProviderHandlers = {
  [Name in "get_sign_in_settings" | "update_sign_in_settings"]: Handler<
    Actions[Name],
    ProviderServices
  >;
};

export const providerHandlers: ProviderHandlers = {
  async get_sign_in_settings({ sql, baseUrl }) {
    const row = await sql.first(store.selectSettings, sql.organizationId);
    return settingsRecord(baseUrl, sql.organizationId, row);
  },

  // The provider is asked between two transactions, so that a slow one holds no connection.
  update_sign_in_settings: onHost({
    async prepare({ caller, sql }, input) {
      const now = await beginRoleChange(sql, caller);
      await excepted(sql, input);
      const former = await sql.first(store.selectSettings, sql.organizationId);
      if (input.issuer !== null) refuseIncomplete(input, former);
      refuseWithoutAll(now);
      return { issuer: input.issuer === null ? undefined : (input.issuer ?? former!.issuer) };
    },

    async ask({ caller, providers, baseUrl }, input, { issuer }) {
      const { clientId = "hawser", clientSecret = "", groupsClaim = null } = input;
      const isChanged = [input.issuer, input.clientId, input.clientSecret].some(
        (each) => each !== undefined && each !== null,
      );
      if (issuer === undefined || !isChanged) return;
      const settings = { issuer, clientId, clientSecret, groupsClaim };
      try {
        await providers.begin(settings, redirectUriOf(baseUrl, caller.organizationId));
      } catch (error) {
        if (error instanceof ProviderRefusal) throw refusalOfIssuer(error.code, error.message);
        throw error;
      }
    },

    async conclude({ caller, sql, sealing, authenticator, baseUrl }, input) {
      refuseWithoutAll(await beginRoleChange(sql, caller));
      const { organizationId } = sql;
      sql.afterCommit(() => authenticator.forget(organizationId));
      if (changesProvider(input)) await refuseStranding(sql);
      if (input.issuer === null) {
        await sql.rows(store.deleteSettings, organizationId);
        return settingsRecord(baseUrl, organizationId, undefined);
      }
      const former = await sql.first(store.selectSettings, organizationId);
      refuseIncomplete(input, former);
      for (const [at, { role }] of (input.groupRoles ?? []).entries()) {
        await chosenRole(sql, role, `groupRoles[${at}].role`);
      }
      const next = {
        ...(former ?? nothing),
        ...changedColumns(input),
        ...provider(sealing, sql, input, former),
      };
      const wanted = await excepted(sql, input);
      if (wanted) next.except_user_ids = wanted;
      if (next.required && next.tested_at === null) throw untested();
      if (next.required) await refuseLockingOut(sql, next);
      const row = await sql.first(
        store.upsertSettings,
        organizationId,
        next.settings_id,
        next.issuer,
        next.client_id,
        next.client_secret,
        next.groups_claim,
        JSON.stringify(next.group_roles),
        next.required,
        next.except_user_ids,
        null,
      );
      return settingsRecord(baseUrl, organizationId, row);
    },
  }),
};

/** As for making an owner: whoever decides who signs in can become each member. */
function refuseWithoutAll({ permissions }: Caller): void {
  const missing = permissionNames.filter((each) => !permissions.has(each));
  if (missing.length === 0) return;
  throw new Refusal(
    "forbidden",
    `Changing the identity provider needs every permission; this caller lacks ${missing.join(", ")}.`,
  );
}

/** The secret is for one client of one issuer, and is never sent to another one. */
function refuseIncomplete(input: Update, former: store.SettingsRow | undefined): void {
  const { issuer, clientId, clientSecret } = input;
  const isOther =
    (issuer !== undefined && issuer !== former?.issuer) ||
    (clientId !== undefined && clientId !== former?.client_id);
  const missing = [
    ...(issuer === undefined && !former ? ["issuer"] : []),
    ...(clientId === undefined && !former ? ["clientId"] : []),
    ...(clientSecret === undefined && (isOther || !former) ? ["clientSecret"] : []),
  ];
  if (missing.length === 0) return;
  throw new Refusal(
    "invalid_input",
    "The identity provider needs an issuer, and a client id and secret that belong to it. Send them together.",
    { fields: missing.map((field) => ({ field, message: "is required" })) },
  );
}

/** Whether the input can end how people sign in with the provider. */
function changesProvider({ required: _required, exceptUserIds: _excepted, ...others }: Update) {
  return Object.values(others).some((each) => each !== undefined);
}

type Chosen = Pick<
  store.SettingsRow,
  "groups_claim" | "group_roles" | "required" | "except_user_ids"
>;

function changedColumns(input: Update): Partial<Chosen> {
  return {
    ...(input.groupsClaim !== undefined && { groups_claim: input.groupsClaim }),
    ...(input.groupRoles && { group_roles: input.groupRoles }),
    ...(input.required !== undefined && { required: input.required }),
  };
}

/** The settings of an organization that never had a provider. */
const nothing: Chosen = {
  groups_claim: null,
  group_roles: [],
  required: false,
  except_user_ids: [],
};

type ProviderColumns = Pick<
  store.SettingsRow,
  "settings_id" | "issuer" | "client_id" | "client_secret" | "tested_at"
>;

/** The former columns unless one of them changes. Each change ends the sign-ins with the former ones. */
function provider(
  sealing: Sealing,
  { organizationId }: TenantSql,
  { issuer: given, clientId, clientSecret }: Update,
  former: store.SettingsRow | undefined,
): ProviderColumns {
  if (former && clientSecret === undefined) {
    const { settings_id, issuer, client_id, client_secret, tested_at } = former;
    return { settings_id, issuer, client_id, client_secret, tested_at };
  }
  const settingsId = randomUUID();
  const place = clientSecretPlace({ organization_id: organizationId, settings_id: settingsId });
  return {
    settings_id: settingsId,
    issuer: given ?? former!.issuer,
    client_id: clientId ?? former!.client_id,
    client_secret: sealing.seal(place, clientSecret!),
    tested_at: null,
  };
}

/** The stored ids of `exceptUserIds`; undefined if the caller sent none. Throws unless they are ids of owners. */
async function excepted(sql: TenantSql, { exceptUserIds }: Update): Promise<string[] | undefined> {
  if (!exceptUserIds) return undefined;
  const ids = [...new Set(exceptUserIds)].map((each) => parseId("user", each));
  const known = ids.filter((id) => id !== null);
  const members = await sql.rows(store.selectExcepted, sql.organizationId, known);
  if (members.length < ids.length) throw notFound("member");
  if (!members.every(({ is_owner }) => is_owner)) throw onlyOwners("must name owners only");
  return members.map(({ user_id }) => user_id);
}

async function refuseLockingOut(sql: TenantSql, next: Chosen): Promise<void> {
  const values = [sql.organizationId, next.except_user_ids];
  const members = await sql.rows(store.selectExcepted, ...values);
  if (members.some(({ is_owner, has_own_way }) => is_owner && has_own_way)) return;
  throw onlyOwners("must name an owner with a password or a passkey");
}

const onlyOwners = (message: string) =>
  new Refusal(
    "invalid_input",
    "An outage of the provider must not lock everybody out. Name owners in exceptUserIds, at least one of whom has accepted an invitation and has a password or a passkey.",
    { fields: [{ field: "exceptUserIds", message }] },
  );

function refusalOfIssuer(code: ProviderRefusalCode, message: string): Refusal {
  return new Refusal("provider_failed", message, { fields: [{ field: "issuer", message: code }] });
}

const untested = () =>
  new Refusal(
    "provider_untested",
    "Nobody has signed in with these settings yet. Save them without `required`, sign in with the provider, and then require it.",
    { fields: [{ field: "required", message: "needs a sign-in with the provider first" }] },
  );

function settingsRecord(
  baseUrl: string,
  organizationId: string,
  row: store.SettingsRow | undefined,
): SignInSettingsRecord {
  return {
    issuer: row?.issuer ?? null,
    clientId: row?.client_id ?? null,
    redirectUri: redirectUriOf(baseUrl, organizationId),
    groupsClaim: row?.groups_claim ?? null,
    groupRoles: row?.group_roles ?? [],
    required: row?.required ?? false,
    exceptUserIds: (row?.except_user_ids ?? []).map((id) => formatId("user", id)),
    testedAt: row?.tested_at ?? null,
  };
}
