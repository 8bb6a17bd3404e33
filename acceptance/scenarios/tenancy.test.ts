// Another organization's id is answered word for word as one that names nothing, for every id field
// of every built action. The fields are found by their mark in the registry, so a new action
// without a case here fails.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  formatId,
  parseId,
  registry,
  type Action,
  type ActionName,
  type ErrorBody,
  type IdKind,
} from "@hawser/contract";
import { refusalText, type Caller } from "@hawser/testkit/caller.ts";
import { fingerprint } from "@hawser/testkit/fingerprint.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import type { TestOrganization } from "@hawser/testkit/organization.ts";
import { allToolsets, connectMcp } from "../mcp-client.ts";
import { refusalOf } from "../refusal.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";

useWorld();

type Ids = Partial<Record<IdKind, string>>;
/** `own`: records of the caller's organization. */
type Recipe = (id: string, own: Ids) => object;

/** A body for each id field, valid but for the id in that field. */
const recipes: Record<string, Recipe> = {
  "get_instance.instanceId": (instanceId) => ({ instanceId }),
  "regenerate_pairing_token.instanceId": (instanceId) => ({ instanceId }),
  "update_instance.instanceId": (instanceId) => ({ instanceId, name: "taken over" }),
  "list_directories.instanceId": (instanceId) => ({ instanceId }),
  "browse_directory.instanceId": (instanceId) => ({ instanceId, path: "/srv" }),
  "refresh_instance.instanceId": (instanceId) => ({ instanceId }),
  "list_github_repos.instanceId": (instanceId) => ({ instanceId }),
  "clone_repository.instanceId": (instanceId) => ({
    instanceId,
    rootPath: "/projects",
    repo: "acme/widget",
  }),
  "update_agent.instanceId": (instanceId) => ({ instanceId }),
  "list_agent_kinds.instanceId": (instanceId) => ({ instanceId }),
  "list_agent_identities.instanceId": (instanceId) => ({ instanceId }),
  "start_agent_login.instanceId": (instanceId) => ({ instanceId, kind: "codex" }),
  "poll_agent_login.loginId": (loginId) => ({ loginId }),
  "submit_agent_login.loginId": (loginId) => ({ loginId, code: "x" }),
  "link_agent_identity.instanceId": (instanceId) => ({
    instanceId,
    kind: "codex",
    way: "api_key",
    sealedSecret: "a.b.c.d.e",
  }),
  "unlink_agent_identity.instanceId": (instanceId) => ({ instanceId, kind: "codex" }),
  "update_opencode.instanceId": (instanceId) => ({ instanceId }),
  "install_agent_kind.instanceId": (instanceId) => ({ instanceId, kind: "codex" }),
  "update_agent_kind.instanceId": (instanceId) => ({ instanceId, kind: "codex" }),
  "delete_instance.instanceId": (instanceId) => ({ instanceId }),
  "list_sessions.instanceId": (instanceId) => ({ instanceId }),
  "search_sessions.instanceId": (instanceId) => ({ instanceId }),
  "list_models.instanceId": (instanceId) => ({ instanceId }),
  "restart_opencode.instanceId": (instanceId) => ({ instanceId }),
  "restart_agent_kind.instanceId": (instanceId) => ({ instanceId, kind: "codex" }),
  "set_fallback_chain.instanceId": (instanceId) => ({ instanceId, chain: [{ kind: "codex" }] }),
  "start_session.instanceId": (instanceId) => ({ instanceId, directory: "/srv/code" }),
  "get_session_summary.sessionId": (sessionId) => ({ sessionId }),
  "search_session_events.sessionId": (sessionId) => ({ sessionId, query: "x" }),
  "list_session_events.sessionId": (sessionId) => ({ sessionId }),
  "list_session_turns.sessionId": (sessionId) => ({ sessionId }),
  "list_session_commands.sessionId": (sessionId) => ({ sessionId }),
  "wait_for_session.sessionId": (sessionId) => ({ sessionId, timeoutSeconds: 1 }),
  "get_session_diff.sessionId": (sessionId) => ({ sessionId }),
  "get_session_file_diff.sessionId": (sessionId) => ({ sessionId, path: "a.txt" }),
  "get_session_git.sessionId": (sessionId) => ({ sessionId }),
  "revert_session.sessionId": (sessionId) => ({ sessionId, messageId: "msg_1" }),
  "list_parked_sessions.instanceId": (instanceId) => ({ instanceId }),
  "restore_session.sessionId": (sessionId) => ({ sessionId }),
  "fork_session.sessionId": (sessionId) => ({ sessionId, agentKind: "codex" }),
  "end_session.sessionId": (sessionId) => ({ sessionId }),
  "delete_session.sessionId": (sessionId) => ({ sessionId }),
  "delete_session.sessionIds[]": (sessionId) => ({ sessionIds: [sessionId] }),
  "send_prompt.sessionId": (sessionId) => ({ sessionId, text: "go" }),
  "run_shell.sessionId": (sessionId) => ({ sessionId, command: "true" }),
  "run_command.sessionId": (sessionId) => ({ sessionId, command: "init" }),
  "summarize_session.sessionId": (sessionId) => ({ sessionId }),
  "push_session.sessionId": (sessionId) => ({ sessionId }),
  "abort_session.sessionId": (sessionId) => ({ sessionId }),
  "list_queued_prompts.sessionId": (sessionId) => ({ sessionId }),
  "update_queued_prompt.sessionId": (sessionId) => ({
    sessionId,
    messageId: "msg_1",
    text: "x",
    version: 0,
  }),
  "hold_queued_prompt.sessionId": (sessionId) => ({ sessionId, messageId: "msg_1" }),
  "move_queued_prompt.sessionId": (sessionId) => ({
    sessionId,
    messageId: "msg_1",
    beforeMessageId: null,
  }),
  "remove_queued_prompt.sessionId": (sessionId) => ({ sessionId, messageId: "msg_1" }),
  "send_queued_prompt_now.sessionId": (sessionId) => ({ sessionId, messageId: "msg_1" }),
  "read_session_entry.sessionId": (sessionId) => ({ sessionId, seq: 1 }),
  "list_session_rules.sessionId": (sessionId) => ({ sessionId }),
  "forget_session_rule.sessionId": (sessionId) => ({ sessionId, rule: "ls" }),
  "rename_session.sessionId": (sessionId) => ({ sessionId, title: "taken over" }),
  "set_session_mode.sessionId": (sessionId) => ({ sessionId, mode: "auto" }),
  "share_session.sessionId": (sessionId) => ({ sessionId, userIds: [] }),
  "share_session.userIds[]": (userId, { session: sessionId }) => ({
    sessionId,
    userIds: [userId],
  }),
  "list_pending_requests.sessionId": (sessionId) => ({ sessionId }),
  "list_pending_requests.instanceId": (instanceId) => ({ instanceId }),
  "get_request.requestId": (requestId) => ({ requestId }),
  "mark_session_read.sessionId": (sessionId) => ({ sessionId, seq: 1 }),
  "search_requests.sessionId": (sessionId) => ({ sessionId }),
  "search_requests.instanceId": (instanceId) => ({ instanceId }),
  "answer_permission.requestId": (requestId) => ({ requestId, answer: "once" }),
  "answer_question.requestId": (requestId) => ({ requestId, reject: true }),
  "create_scheduled_prompt.instanceIds[]": (instanceId) => ({
    prompt: "go",
    instanceIds: [instanceId],
    frequency: "daily",
    startAt: "2100-01-01T00:00:00Z",
    directory: "/srv/code",
  }),
  "update_scheduled_prompt.scheduleId": (scheduleId) => ({ scheduleId, name: "taken over" }),
  "update_scheduled_prompt.instanceIds[]": (instanceId, { schedule: scheduleId }) => ({
    scheduleId,
    instanceIds: [instanceId],
  }),
  "set_scheduled_prompt_enabled.scheduleId": (scheduleId) => ({ scheduleId, enabled: false }),
  "delete_scheduled_prompt.scheduleId": (scheduleId) => ({ scheduleId }),
  "preview_scheduled_prompt.scheduleId": (scheduleId) => ({ scheduleId }),
  "run_scheduled_prompt_now.scheduleId": (scheduleId) => ({ scheduleId }),
  "list_schedule_runs.scheduleId": (scheduleId) => ({ scheduleId }),
  "list_schedule_runs.triggerId": (triggerId) => ({ triggerId }),
  "create_trigger.instanceIds[]": (instanceId) => ({
    prompt: "go",
    instanceIds: [instanceId],
    source: "json",
    directory: "/srv/code",
  }),
  "update_trigger.triggerId": (triggerId) => ({ triggerId, name: "taken over" }),
  "delete_trigger.triggerId": (triggerId) => ({ triggerId }),
  "update_webhook.webhookId": (webhookId) => ({ webhookId, url: "https://taken.example" }),
  "delete_webhook.webhookId": (webhookId) => ({ webhookId }),
  "list_exposures.instanceId": (instanceId) => ({ instanceId }),
  "create_exposure.instanceId": (instanceId) => ({ instanceId, ttlMinutes: 60 }),
  "create_exposure.sessionId": (sessionId, { instance: instanceId }) => ({
    instanceId,
    sessionId,
    ttlMinutes: 60,
  }),
  "list_session_ports.sessionId": (sessionId) => ({ sessionId }),
  "create_preview.sessionId": (sessionId) => ({ sessionId, port: 5173, ttlMinutes: 60 }),
  "revoke_exposure.exposureId": (exposureId) => ({ exposureId }),
  "test_webhook.webhookId": (webhookId) => ({ webhookId }),
  "list_webhook_deliveries.webhookId": (webhookId) => ({ webhookId }),
  "redeliver_webhook.deliveryId": (deliveryId) => ({ deliveryId }),
  "create_api_key.userId": (userId) => ({
    name: "k",
    scope: "user",
    permissions: ["instances:view"],
    userId,
  }),
  "create_api_key.sessionId": (sessionId) => ({
    name: "k",
    scope: "organization",
    permissions: ["instances:view"],
    sessionId,
  }),
  "rotate_api_key.apiKeyId": (apiKeyId) => ({ apiKeyId }),
  "revoke_api_key.apiKeyId": (apiKeyId) => ({ apiKeyId }),
  "update_member.userId": (userId) => ({ userId, role: "viewer" }),
  "remove_member.userId": (userId) => ({ userId }),
  "grant_session.sessionId": (sessionId, { user: userId }) => ({
    sessionId,
    userId,
    level: "view",
  }),
  "grant_session.userId": (userId, { session: sessionId }) => ({
    sessionId,
    userId,
    level: "view",
  }),
  "list_session_grants.sessionId": (sessionId) => ({ sessionId }),
  "revoke_session_grant.sessionId": (sessionId, { user: userId }) => ({ sessionId, userId }),
  "revoke_session_grant.userId": (userId, { session: sessionId }) => ({ sessionId, userId }),
  "create_session_link.sessionId": (sessionId) => ({ sessionId, level: "view" }),
  "revoke_session_link.sessionId": (sessionId) => ({ sessionId, level: "view" }),
  "list_connected_identities.userId": (userId) => ({ userId }),
  "remove_connected_identity.userId": (userId) => ({
    userId,
    issuer: "https://login.example",
    subject: "kim",
  }),
  "revoke_invitation.invitationId": (invitationId) => ({ invitationId }),
  "revoke_sign_in.signInId": (signInId) => ({ signInId }),
  "update_sign_in_settings.exceptUserIds[]": (userId) => ({ exceptUserIds: [userId] }),
};

interface IdField {
  action: ActionName;
  field: string;
  kind: IdKind;
}

interface JsonSchema {
  idOf?: IdKind;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
}

const idFields: IdField[] = Object.entries(registry as Record<string, Action>).flatMap(
  ([name, action]) =>
    findIds(action.input.toJSONSchema({ io: "input" }) as JsonSchema).map((found) => ({
      action: name as ActionName,
      ...found,
    })),
);

function findIds(schema: JsonSchema, at = ""): { field: string; kind: IdKind }[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    findIds(property, at ? `${at}.${name}` : name),
  );
  return [
    ...(schema.idOf ? [{ field: at, kind: schema.idOf }] : []),
    ...inner,
    ...(schema.items ? findIds(schema.items, `${at}[]`) : []),
    ...(schema.anyOf ?? []).flatMap((each) => findIds(each, at)),
  ];
}

/** One record of each kind in an organization. */
async function recordsOf(
  { world }: Context,
  organization: TestOrganization,
  owner: Caller,
): Promise<Ids> {
  const { instanceId } = (await owner.create_instance({ name: "a record" })).instance;
  const [session] = await insertSessions(world, organization, { instanceId });
  const { apiKey } = await owner.create_api_key({
    name: "a record",
    scope: "organization",
    permissions: ["instances:view"],
  });
  const member = await owner.add_member({
    email: `record@${organization.organizationId.slice(4)}.example`,
    role: "member",
  });
  const { scheduleId } = await owner.create_scheduled_prompt({
    prompt: "go",
    instanceIds: [instanceId],
    frequency: "daily",
    startAt: "2100-01-01T00:00:00Z",
    directory: "/srv/code",
  });
  const { trigger } = await owner.create_trigger({
    prompt: "go",
    instanceIds: [instanceId],
    source: "json",
    directory: "/srv/code",
  });
  const { invitation } = await owner.create_invitation({
    email: "invited@people.example",
    role: "viewer",
  });
  const url = "https://hooks.example";
  const { webhookId } = (await owner.create_webhook({ url, events: ["host_status"] })).webhook;
  return {
    organization: organization.organizationId,
    user: member.userId,
    apiKey: apiKey.apiKeyId,
    instance: instanceId,
    session: session!,
    request: await insertRequest(world, session!),
    login: await insertLogin(world, instanceId),
    schedule: scheduleId,
    trigger: trigger.triggerId,
    webhook: webhookId,
    delivery: await insertDelivery(world, webhookId),
    exposure: await insertExposure(world, instanceId),
    invitation: invitation.invitationId,
    signIn: await insertSignIn(world, member.userId),
  };
}

/** As a node would have delivered it. No node changes it any more. */
async function insertDelivery(world: Context["world"], webhookId: string): Promise<string> {
  const [row] = await ownerSql<{ delivery_id: string }>(
    world.database.url,
    `INSERT INTO webhook_deliveries (organization_id, webhook_id, event, subject_id, seq, facts, state, behind, try_at)
     SELECT organization_id, webhook_id, 'test', webhook_id, 0, '{}', 'delivered', false, hawser_now()
       FROM webhooks WHERE webhook_id = $1
     RETURNING delivery_id`,
    [parseId("webhook", webhookId)],
  );
  return formatId("delivery", row!.delivery_id);
}

/** As create_exposure would have made it. */
async function insertExposure(world: Context["world"], instanceId: string): Promise<string> {
  const [row] = await ownerSql<{ exposure_id: string }>(
    world.database.url,
    `INSERT INTO exposures (organization_id, instance_id, password_hash, api_key_id, created_by, expires_at)
     SELECT organization_id, instance_id, '', gen_random_uuid(),
            '{"type": "organization_key", "id": "x", "name": "x"}', hawser_now() + interval '1 hour'
       FROM instances WHERE instance_id = $1
     RETURNING exposure_id`,
    [parseId("instance", instanceId)],
  );
  return formatId("exposure", row!.exposure_id);
}

/** As a page would have made it. */
async function insertSignIn(world: Context["world"], userId: string): Promise<string> {
  const [row] = await ownerSql<{ sign_in_id: string }>(
    world.database.url,
    `WITH account AS (INSERT INTO sign_in.accounts (user_id) VALUES ('${parseId("user", userId)}') RETURNING user_id)
     INSERT INTO sign_in.sign_ins (token_hash, user_id, way, device, expires_at)
     SELECT sha256(user_id::text::bytea), user_id, 'password', '', hawser_now() + interval '1 hour' FROM account
     RETURNING sign_in_id`,
  );
  return formatId("signIn", row!.sign_in_id);
}

/** As start_agent_login would have made it. */
async function insertLogin(world: Context["world"], instanceId: string): Promise<string> {
  const [row] = await ownerSql<{ login_id: string }>(
    world.database.url,
    `INSERT INTO agent_logins (organization_id, instance_id, user_id, owner_id, kind, flow, authorization_url)
     SELECT organization_id, instance_id, gen_random_uuid(), 'usr_x.1', 'codex', 'paste_code', ''
       FROM instances WHERE instance_id = $1
     RETURNING login_id`,
    [parseId("instance", instanceId)],
  );
  return formatId("login", row!.login_id);
}

/** As a host would have reported it. */
async function insertRequest(world: Context["world"], sessionId: string): Promise<string> {
  const [row] = await ownerSql<{ request_id: string }>(
    world.database.url,
    `INSERT INTO requests (organization_id, request_id, session_id, instance_id, type, shown, shown_hash, raised_at)
     SELECT organization_id, gen_random_uuid(), session_id, instance_id, 'question', '[]', '', now()
       FROM sessions WHERE session_id = $1
     RETURNING request_id`,
    [parseId("session", sessionId)],
  );
  return formatId("request", row!.request_id);
}

/** Every table, and the owner's own trail: what strangers try is in theirs. */
async function everything({ world, caller }: Context): Promise<unknown> {
  const tables = new Map(await fingerprint(world.database.url));
  assert.ok(tables.delete("audit_entries"));
  return { tables, audit: await caller.list_audit_entries({ limit: 200 }) };
}

let records: Promise<{ ours: Ids; theirs: Ids }> | undefined;
function recordsIn(context: Context) {
  const { world, caller, stranger } = context;
  return (records ??= (async () => ({
    ours: await recordsOf(context, world.organizations[0], caller),
    theirs: await recordsOf(context, world.organizations[1], stranger),
  }))());
}

scenario("Every id field of every built action has a case", [], async (context) => {
  const found = idFields.map(({ action, field }) => `${action}.${field}`);
  assert.deepEqual(found.sort(), Object.keys(recipes).sort());
  const { ours } = await recordsIn(context);
  for (const { kind, action } of idFields) assert.ok(ours[kind], `${action}: a record of ${kind}`);
});

for (const { action, field, kind } of idFields) {
  scenario(
    `${action} reveals nothing by ${field} about another organization's ${kind}`,
    ["general.ids.other_organization"],
    async (context) => {
      const { stranger, world } = context;
      const recipe = recipes[`${action}.${field}`];
      assert.ok(recipe, `${action}.${field} has no case in this file: give it one`);
      const { ours, theirs } = await recordsIn(context);
      const before = await everything(context);

      const foreign = await stranger.try(action, recipe(ours[kind]!, theirs));
      // Deleting treats each id by itself, and fails when none is left.
      const refused = action === "delete_session" ? [409, "nothing_deleted"] : [404, "not_found"];
      assert.deepEqual([foreign.status, refusalOf(foreign).code], refused, foreign.text);

      const another = kind === "instance" ? theirs.session! : theirs.instance!;
      const unknown = [
        formatId(kind, randomUUID()),
        "nonsense",
        // Of a list of ids, an empty one is a broken body.
        ...(field.endsWith("[]") ? [] : [""]),
        another,
        ours[kind]!.toUpperCase(),
      ];
      for (const id of unknown) {
        const reply = await stranger.try(action, recipe(id, theirs));
        assert.deepEqual(
          [reply.status, refusalText(reply)],
          [foreign.status, refusalText(foreign)],
          id,
        );
      }
      await using client = await connectMcp(world.baseUrl, stranger.key, { query: allToolsets });
      const tool = await client.callTool({
        name: action,
        arguments: recipe(ours[kind]!, theirs) as Record<string, unknown>,
      });
      assert.equal(tool.isError, true);
      const { error } = tool.structuredContent as ErrorBody;
      const { callId, ...said } = refusalOf(foreign);
      assert.deepEqual({ ...error, callId }, { ...said, callId });

      assert.deepEqual(await everything(context), before, "the other organization's rows");
    },
  );
}

/** Host actions that are answered without a host. */
const answersAlone: ActionName[] = [
  "delete_instance",
  "list_agent_kinds",
  "list_agent_identities",
  "list_directories",
  "get_session_summary",
  "get_session_diff",
  "get_session_git",
  "end_session",
  "delete_session",
  "answer_question",
];
const refusedWithoutHost: Record<string, string> = {
  start_session: "host_offline",
  list_models: "host_offline",
  restore_session: "host_offline",
  fork_session: "host_offline",
  revert_session: "capability_missing",
  run_shell: "capability_missing",
  run_command: "capability_missing",
  list_session_commands: "capability_missing",
  summarize_session: "capability_missing",
  // These act for a user, and the key is the organization's.
  start_agent_login: "user_key_required",
  poll_agent_login: "user_key_required",
  submit_agent_login: "user_key_required",
  link_agent_identity: "user_key_required",
  unlink_agent_identity: "user_key_required",
  share_session: "user_key_required",
  mark_session_read: "user_key_required",
  // No host can open a tunnel here, so exposures have no address.
  create_exposure: "host_refused",
  create_preview: "host_refused",
  // The key is the organization's, which has no sign-ins.
  revoke_sign_in: "not_found",
  // The log has no entry yet.
  read_session_entry: "not_found",
  // The organization has no provider yet.
  remove_connected_identity: "not_found",
  update_sign_in_settings: "invalid_input",
  // The record is a question.
  answer_permission: "wrong_request_type",
  // Deleted by the case before.
  "delete_session.sessionIds[]": "nothing_deleted",
};

scenario("Each of these fields takes an id of one's own", [], async (context) => {
  // Otherwise the cases above could pass because their bodies are wrong.
  const { caller } = context;
  const { ours } = await recordsIn(context);
  const last = ["end_session", "delete_session", "remove_member", "revoke_api_key"];
  last.push("delete_scheduled_prompt", "delete_trigger", "delete_webhook", "delete_instance");
  const inOrder = idFields.toSorted((a, b) => last.indexOf(a.action) - last.indexOf(b.action));
  for (const { action, field, kind } of inOrder) {
    if (action === "rotate_api_key") continue;
    const reply = await caller.try(action, recipes[`${action}.${field}`]!(ours[kind]!, ours));
    // No host is paired here: that it was looked for shows that the id was taken.
    const refused = refusedWithoutHost[`${action}.${field}`] ?? refusedWithoutHost[action];
    const asksHost = registry[action].reach === "host" && !answersAlone.includes(action);
    if (refused) assert.equal(refusalOf(reply).code, refused, action);
    else if (asksHost) assert.equal(refusalOf(reply).code, "unavailable", action);
    else assert.equal(reply.status, 200, `${action}: ${reply.text}`);
  }
});
