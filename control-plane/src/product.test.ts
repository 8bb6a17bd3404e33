// Rules of the coding product as a whole: which promised actions are not built yet, and that another
// organization's record costs exactly as much as a missing one (T13).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { actionNames, formatId, registry } from "@hawser/contract";
import { createTestOrganization, type TestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { z } from "zod";
import { createAuthenticator } from "./access/authenticate.ts";
import { createReadCounts } from "./audit/read-counts.ts";
import { createDispatcher, type Dispatcher } from "./dispatch/dispatcher.ts";
import { createTokenBuckets } from "./dispatch/token-bucket.ts";
import { followsWithoutNotices, noHosts, noViewers } from "./host-link.ts";
import { createLog } from "./log.ts";
import type { Database } from "./postgres/database.ts";
import { calledFromBelow, codeApi, handlers } from "./product.ts";

test("every action has a handler or is listed as not built, and none is both", () => {
  assert.deepEqual(Object.keys(handlers).sort(), [...actionNames].sort());
});

let service: ServiceDatabase;
let acme: TestOrganization;
let globex: TestOrganization;
let dispatcher: Dispatcher;
let statements = 0;

before(async () => {
  service = await openServiceDatabase();
  acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  globex = await createTestOrganization(service.database, "Globex", "grace@globex.example");
  const database = counting(service.database);
  const authenticator = createAuthenticator(service.database.system);
  dispatcher = createDispatcher({
    actions: codeApi.actions,
    handlers,
    services: {
      ...calledFromBelow,
      authenticator,
      baseUrl: "https://hawser.example",
      hosts: noHosts,
      viewers: noViewers,
      follows: followsWithoutNotices(service.database),
      memberAccounts: { remove: () => {} },
      triggerSecret: randomBytes(32),
    },
    database,
    authenticate: ({ authorization }, options) =>
      authenticator.authenticate(authorization, options),
    buckets: createTokenBuckets({ perSecond: 1000, burst: 1000 }),
    pepper: randomBytes(32),
    readCounts: createReadCounts(service.database.system),
    log: createLog("silent"),
    observe: () => {},
  });
});

after(() => service[Symbol.asyncDispose]());

/** Counts each statement that a call sends. */
function counting(database: Database): Database {
  const counted = <Sql extends object>(sql: Sql): Sql =>
    new Proxy(sql, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (
          typeof value !== "function" ||
          !["rows", "first", "together", "later"].includes(String(name))
        )
          return value;
        return (...args: unknown[]) => {
          statements += name === "together" ? args.length : 1;
          return (value as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  return {
    ...database,
    tenant: (whose) => counted(database.tenant(whose)),
    tenantTransaction: (whose, work) =>
      database.tenantTransaction(whose, (tx) => work(counted(tx))),
  };
}

/** The rest of the input, for each built action that takes an id. A new action needs a line here. */
const otherFields: Record<string, object> = {
  get_instance: {},
  regenerate_pairing_token: {},
  update_instance: { name: "n" },
  delete_instance: {},
  refresh_instance: {},
  list_directories: {},
  browse_directory: { path: "/srv" },
  list_github_repos: {},
  clone_repository: { rootPath: "/projects", repo: "acme/widget" },
  list_agent_kinds: {},
  list_agent_identities: {},
  start_agent_login: { kind: "codex" },
  poll_agent_login: {},
  submit_agent_login: { code: "x" },
  link_agent_identity: { kind: "codex", way: "api_key", sealedSecret: "a.b.c.d.e" },
  unlink_agent_identity: { kind: "codex" },
  update_opencode: {},
  install_agent_kind: { kind: "codex" },
  update_agent_kind: { kind: "codex" },
  update_agent: {},
  list_sessions: {},
  search_sessions: {},
  list_models: {},
  restart_opencode: {},
  restart_agent_kind: { kind: "codex" },
  set_fallback_chain: { chain: [] },
  start_session: { directory: "/srv" },
  get_session_summary: {},
  list_session_events: {},
  search_session_events: { query: "x" },
  list_session_turns: {},
  list_session_commands: {},
  wait_for_session: { timeoutSeconds: 1 },
  end_session: {},
  delete_session: {},
  send_prompt: { text: "go" },
  abort_session: {},
  list_queued_prompts: {},
  update_queued_prompt: { messageId: "msg_x", text: "go", version: 0 },
  hold_queued_prompt: { messageId: "msg_x" },
  move_queued_prompt: { messageId: "msg_x", beforeMessageId: null },
  remove_queued_prompt: { messageId: "msg_x" },
  send_queued_prompt_now: { messageId: "msg_x" },
  read_session_entry: { seq: 1 },
  list_session_rules: {},
  forget_session_rule: { rule: "ls" },
  rename_session: { title: "t" },
  set_session_mode: { mode: "ask" },
  share_session: { userIds: [] },
  push_session: {},
  get_session_diff: {},
  get_session_file_diff: { path: "a" },
  get_session_git: {},
  revert_session: { messageId: "msg_x" },
  restore_session: {},
  fork_session: { agentKind: "codex" },
  list_parked_sessions: {},
  summarize_session: {},
  run_shell: { command: "true" },
  run_command: { command: "init" },
  list_pending_requests: {},
  search_requests: {},
  get_request: {},
  mark_session_read: { seq: 1 },
  answer_permission: { answer: "once" },
  answer_question: { reject: true },
  update_scheduled_prompt: { name: "n" },
  set_scheduled_prompt_enabled: { enabled: false },
  delete_scheduled_prompt: {},
  preview_scheduled_prompt: {},
  run_scheduled_prompt_now: {},
  list_schedule_runs: {},
  update_trigger: { name: "n" },
  delete_trigger: {},
  update_webhook: { name: "n" },
  delete_webhook: {},
  list_exposures: {},
  "create_exposure.instanceId": { ttlMinutes: 60 },
  "create_exposure.sessionId": {
    instanceId: formatId("instance", "01a1dcb3-708b-7ba5-8f6d-438dd495d03a"),
    ttlMinutes: 60,
  },
  list_session_ports: {},
  create_preview: { port: 5173, ttlMinutes: 60 },
  revoke_exposure: {},
  test_webhook: {},
  list_webhook_deliveries: {},
  redeliver_webhook: {},
  "create_api_key.userId": { name: "k", scope: "user", permissions: ["instances:view"] },
  "create_api_key.sessionId": { name: "k", scope: "organization", permissions: ["instances:view"] },
  rotate_api_key: {},
  revoke_api_key: {},
  update_member: { role: "viewer" },
  remove_member: {},
  list_connected_identities: {},
  remove_connected_identity: { issuer: "https://login.example", subject: "s" },
  revoke_invitation: {},
  revoke_sign_in: {},
  "grant_session.sessionId": { userId: "usr_x", level: "view" },
  "grant_session.userId": { sessionId: "ses_x", level: "view" },
  list_session_grants: {},
  "revoke_session_grant.sessionId": { userId: "usr_x" },
  "revoke_session_grant.userId": { sessionId: "ses_x" },
  create_session_link: { level: "view" },
  revoke_session_link: { level: "view" },
};

const idFields = Object.keys(handlers).flatMap((name) => {
  const action = registry[name as keyof typeof registry];
  const { properties = {} } = z.toJSONSchema(action.input, { io: "input" }) as {
    properties?: Record<string, { idOf?: string }>;
  };
  return Object.entries(properties).flatMap(([field, { idOf }]) =>
    idOf ? [{ name, field, idOf }] : [],
  );
});

for (const { name, field, idOf } of idFields) {
  test(`${name} asks as much of the database for another organization's ${field} as for one that names nothing`, async () => {
    const rest = otherFields[name] ?? otherFields[`${name}.${field}`];
    assert.ok(rest, `${name} takes an id: give it a line in otherFields`);
    const foreign = await foreignId(idOf);
    const unknown = formatId(idOf as "instance", "01a1dcb3-708b-7ba5-8f6d-438dd495d039");
    const attempts: { words: string; statements: number }[] = [];
    for (const id of [foreign, unknown]) {
      statements = 0;
      const answer = await dispatcher.dispatch(
        { authorization: `Bearer ${globex.keys.owner}` },
        {
          action: name,
          body: () => Promise.resolve({ ...rest, [field]: id }),
          callId: "test",
          transport: "test",
        },
      );
      assert.ok("refusal" in answer);
      attempts.push({ words: `${answer.refusal.code} ${answer.refusal.message}`, statements });
    }
    assert.deepEqual(attempts[0], attempts[1]);
    assert.match(attempts[0]!.words, name === "delete_session" ? /^nothing_deleted/ : /^not_found/);
    assert.ok(attempts[0]!.statements > 0);
  });
}

/** The id of a record of Acme, which Globex must not see. */
async function foreignId(kind: string): Promise<string> {
  const [row] = await ownerSql<
    Record<
      | "instance"
      | "session"
      | "request"
      | "login"
      | "schedule"
      | "trigger"
      | "webhook"
      | "delivery"
      | "exposure"
      | "invitation"
      | "signIn"
      | "key",
      string
    >
  >(
    service.url,
    `WITH o AS (SELECT organization_id FROM organizations WHERE name = 'Acme'),
          i AS (INSERT INTO instances (organization_id, name) SELECT organization_id, 'box' FROM o RETURNING *),
          s AS (INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
                SELECT organization_id, instance_id, 'codex', '{}' FROM i RETURNING *),
          r AS (INSERT INTO requests (organization_id, request_id, session_id, instance_id, type, shown,
                                      shown_hash, raised_at)
                SELECT organization_id, gen_random_uuid(), session_id, instance_id, 'permission', '{}', '', now()
                  FROM s RETURNING request_id),
          l AS (INSERT INTO agent_logins (organization_id, instance_id, user_id, owner_id, kind, flow, authorization_url)
                SELECT organization_id, instance_id, gen_random_uuid(), 'usr_x.1', 'codex', 'paste_code', ''
                  FROM i RETURNING login_id),
          c AS (INSERT INTO schedules (organization_id, prompt, directory, instance_ids, frequency, start_at,
                                       api_key_id, acts_as, created_by)
                SELECT organization_id, 'go', '/srv', ARRAY[instance_id], 'daily', now(), gen_random_uuid(), '{}', '{}'
                  FROM i RETURNING schedule_id),
          e AS (INSERT INTO schedules (organization_id, prompt, directory, instance_ids, frequency, start_at,
                                       api_key_id, acts_as, created_by)
                SELECT organization_id, 'go', '/srv', ARRAY[instance_id], 'event', now(), gen_random_uuid(), '{}', '{}'
                  FROM i RETURNING organization_id, schedule_id),
          t AS (INSERT INTO triggers (organization_id, schedule_id, source, events, salt)
                SELECT organization_id, schedule_id, 'json', '{}', '' FROM e RETURNING schedule_id),
          w AS (INSERT INTO webhooks (organization_id, url, events, salt, api_key_id, acts_as, created_by)
                SELECT organization_id, 'https://hooks.example', '{host_status}', '', gen_random_uuid(), '{}', '{}'
                  FROM o RETURNING *),
          d AS (INSERT INTO webhook_deliveries (organization_id, webhook_id, event, subject_id, seq, facts, behind, try_at)
                SELECT organization_id, webhook_id, 'host_status', webhook_id, 0, '{}', false, now() FROM w
                RETURNING delivery_id),
          n AS (INSERT INTO invitations (organization_id, secret_hash, email, role, created_by, creator_key_id, expires_at)
                SELECT organization_id, sha256(organization_id::text::bytea || now()::text::bytea), 'x@y.example', 'viewer', '{}', gen_random_uuid(), now() + interval '1 hour'
                  FROM o RETURNING invitation_id),
          p AS (INSERT INTO sign_in.accounts (user_id) SELECT user_id FROM memberships JOIN o USING (organization_id) LIMIT 1
                ON CONFLICT (user_id) DO UPDATE SET user_id = excluded.user_id RETURNING user_id),
          q AS (INSERT INTO sign_in.sign_ins (token_hash, user_id, way, device, expires_at)
                SELECT sha256(now()::text::bytea), user_id, 'password', '', now() + interval '1 hour' FROM p RETURNING sign_in_id),
          x AS (INSERT INTO exposures (organization_id, instance_id, password_hash, api_key_id, created_by, expires_at)
                SELECT organization_id, instance_id, '', gen_random_uuid(), '{}', now() + interval '1 hour'
                  FROM i RETURNING exposure_id)
     SELECT (SELECT webhook_id FROM w) AS webhook, (SELECT delivery_id FROM d) AS delivery,
            (SELECT exposure_id FROM x) AS exposure, (SELECT invitation_id FROM n) AS invitation,
            (SELECT sign_in_id FROM q) AS "signIn",
            (SELECT schedule_id FROM c) AS schedule, (SELECT schedule_id FROM t) AS trigger, (SELECT login_id FROM l) AS login, (SELECT request_id FROM r) AS request, (SELECT instance_id FROM i) AS instance, (SELECT session_id FROM s) AS session,
            (SELECT api_key_id FROM api_keys JOIN o USING (organization_id) LIMIT 1) AS key`,
  );
  switch (kind) {
    case "instance":
      return formatId("instance", row!.instance);
    case "session":
      return formatId("session", row!.session);
    case "request":
      return formatId("request", row!.request);
    case "login":
      return formatId("login", row!.login);
    case "schedule":
      return formatId("schedule", row!.schedule);
    case "trigger":
      return formatId("trigger", row!.trigger);
    case "webhook":
      return formatId("webhook", row!.webhook);
    case "delivery":
      return formatId("delivery", row!.delivery);
    case "exposure":
      return formatId("exposure", row!.exposure);
    case "invitation":
      return formatId("invitation", row!.invitation);
    case "signIn":
      return formatId("signIn", row!.signIn);
    case "apiKey":
      return formatId("apiKey", row!.key);
    case "user":
      return acme.userId;
    default:
      throw new Error(`No record of the kind ${kind} is made here yet; add one.`);
  }
}
