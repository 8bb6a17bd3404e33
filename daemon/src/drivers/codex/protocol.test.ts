// Compares protocol.ts with the schema of the codex version that is installed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import {
  ignoredNotifications,
  type Answers,
  type Calls,
  type Notifications,
  type Requests,
} from "./protocol.ts";

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: string[];
  items?: Schema;
  definitions?: Record<string, Schema>;
}

let folder: string;
before(async () => {
  const program = await agentProgram("codex");
  folder = mkdtempSync(join(tmpdir(), "hawser-codex-schema-"));
  const args = ["app-server", "generate-json-schema", "--experimental", "--out", folder];
  execFileSync(program, args, {
    env: { CODEX_HOME: folder, HOME: folder, PATH: "/usr/bin:/bin" },
    stdio: "ignore",
    timeout: 30_000,
  });
});
after(() => rmSync(folder, { recursive: true, force: true }));

const read = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Schema;

/** Every object schema that a schema may stand for, with references resolved. */
function objectsIn(schema: Schema, root: Schema): Schema[] {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1)!;
    return objectsIn(root.definitions![name]!, root);
  }
  const parts = [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
  return [schema, ...parts.flatMap((part) => objectsIn(part, root))];
}

/** The schemas at a path of field names; `[]` selects the items of an array. */
function at(schema: Schema, root: Schema, path: string): Schema[] {
  let found = objectsIn(schema, root);
  for (const name of path.split(".")) {
    const next = found.map((each) => (name === "[]" ? each.items : each.properties?.[name]));
    found = next.flatMap((each) => (each ? objectsIn(each, root) : []));
  }
  return found;
}

/** Schemas of the parameters, by method. */
function paramsOf(file: string, method: string): { schema: Schema; root: Schema } | undefined {
  const root = read(file);
  const one = root.oneOf?.find(({ properties }) => properties?.["method"]?.enum?.[0] === method);
  return one && { schema: one.properties!["params"] ?? {}, root };
}

function assertFields(file: string, used: Record<string, string[]>): void {
  for (const [method, fields] of Object.entries(used)) {
    const found = paramsOf(file, method);
    assert.ok(found, `${file} has no ${method}.`);
    for (const field of fields) {
      assert.ok(at(found.schema, found.root, field).length > 0, `${method} has no ${field}.`);
    }
  }
}

/** Makes it a type error to add a method to the types but not here. */
type Used<Methods> = { [Method in keyof Methods]: string[] };

const threadSettings = [
  "cwd",
  "model",
  "permissions",
  "approvalPolicy",
  "approvalsReviewer",
  "developerInstructions",
  "config",
];

test("every call exists, with the parameters that the driver sends", () => {
  const calls: Used<Calls> = {
    initialize: ["clientInfo.name", "clientInfo.title", "capabilities.experimentalApi"],
    "account/read": [],
    "account/rateLimits/read": [],
    "account/login/start": ["type", "apiKey", "region"],
    "account/login/cancel": ["loginId"],
    "account/logout": [],
    "config/read": ["cwd"],
    "model/list": ["cursor"],
    "collaborationMode/list": [],
    "command/exec": ["command", "cwd", "timeoutMs", "sandboxPolicy"],
    "thread/start": threadSettings,
    "thread/resume": [
      ...threadSettings,
      "threadId",
      "excludeTurns",
      "initialTurnsPage.limit",
      "initialTurnsPage.sortDirection",
      "initialTurnsPage.itemsView",
    ],
    "thread/name/set": ["threadId", "name"],
    "thread/archive": ["threadId"],
    "thread/backgroundTerminals/clean": ["threadId"],
    "thread/turns/list": ["threadId", "cursor", "limit", "sortDirection", "itemsView"],
    "thread/revert": ["threadId", "beforeTurnId"],
    "thread/compact/start": ["threadId"],
    "skills/list": ["cwds", "forceReload"],
    "hooks/list": ["cwds"],
    "turn/start": [
      "threadId",
      "clientUserMessageId",
      "input.[].text",
      "input.[].text_elements",
      "input.[].path",
      "input.[].name",
      "model",
      "effort",
      "collaborationMode.mode",
      "collaborationMode.settings.model",
      "collaborationMode.settings.reasoning_effort",
      "collaborationMode.settings.developer_instructions",
    ],
    "turn/interrupt": ["threadId", "turnId"],
  };
  assertFields("ClientRequest.json", calls);
});

test("every answer has the fields that the driver reads", () => {
  const answers: Partial<Record<keyof Answers, [file: string, fields: string[]]>> = {
    "account/read": ["v2/GetAccountResponse.json", ["account", "requiresOpenaiAuth"]],
    "account/login/start": [
      "v2/LoginAccountResponse.json",
      ["loginId", "verificationUrl", "userCode"],
    ],
    "config/read": [
      "v2/ConfigReadResponse.json",
      ["config.model", "config.model_provider", "config.model_reasoning_effort"],
    ],
    "model/list": [
      "v2/ModelListResponse.json",
      [
        "nextCursor",
        ...["model", "hidden", "isDefault", "defaultReasoningEffort"].map(
          (name) => `data.[].${name}`,
        ),
        "data.[].supportedReasoningEfforts.[].reasoningEffort",
      ],
    ],
    "collaborationMode/list": ["v2/CollaborationModeListResponse.json", ["data.[].mode"]],
    "command/exec": ["v2/CommandExecResponse.json", ["exitCode", "stderr"]],
    "thread/start": [
      "v2/ThreadStartResponse.json",
      ["thread.id", "model", "activePermissionProfile.id"],
    ],
    "thread/resume": [
      "v2/ThreadResumeResponse.json",
      [
        "model",
        "activePermissionProfile.id",
        "initialTurnsPage.data.[].id",
        "initialTurnsPage.data.[].items.[].id",
      ],
    ],
    "thread/turns/list": [
      "v2/ThreadTurnsListResponse.json",
      ["nextCursor", "data.[].id", "data.[].items.[].clientId"],
    ],
    "skills/list": [
      "v2/SkillsListResponse.json",
      ["name", "path", "scope", "enabled"].map((name) => `data.[].skills.[].${name}`),
    ],
    "hooks/list": [
      "v2/HooksListResponse.json",
      ["command", "enabled", "trustStatus"].map((name) => `data.[].hooks.[].${name}`),
    ],
    "turn/start": ["v2/TurnStartResponse.json", ["turn.id"]],
  };
  for (const [file, fields] of Object.values(answers)) {
    const root = read(file);
    for (const field of fields) assert.ok(at(root, root, field).length > 0, `${file}: ${field}`);
  }
});

test("every notification exists, with the fields that the driver reads", () => {
  const items = (
    "id type text summary content command cwd status aggregatedOutput exitCode commandActions.[].type " +
    "changes.[].path changes.[].kind changes.[].diff server tool arguments result error " +
    "receiverThreadIds prompt query path clientId"
  )
    .split(" ")
    .map((name) => `item.${name}`);
  const notifications: Used<Notifications> = {
    "turn/started": ["threadId", "turn.id"],
    "turn/completed": [
      "threadId",
      "turn.id",
      "turn.status",
      "turn.error.message",
      "turn.error.codexErrorInfo",
    ],
    "item/started": ["threadId", ...items],
    "item/completed": ["threadId", ...items],
    "item/agentMessage/delta": ["threadId", "itemId", "delta"],
    "item/plan/delta": ["itemId", "delta"],
    "item/reasoning/summaryPartAdded": ["itemId", "summaryIndex"],
    "item/reasoning/summaryTextDelta": ["itemId", "delta"],
    "item/commandExecution/outputDelta": ["itemId", "delta"],
    "turn/plan/updated": ["plan.[].step", "plan.[].status"],
    "thread/tokenUsage/updated": [
      "inputTokens",
      "cachedInputTokens",
      "cacheWriteInputTokens",
      "outputTokens",
    ]
      .flatMap((name) => [`tokenUsage.total.${name}`, `tokenUsage.last.${name}`])
      .concat("tokenUsage.modelContextWindow"),
    "thread/name/updated": ["threadName"],
    "thread/closed": ["threadId"],
    "serverRequest/resolved": ["threadId", "requestId"],
    "hook/started": ["threadId", "run.id", "run.sourcePath"],
    "hook/completed": ["threadId", "run.eventName", "run.status"],
    error: ["threadId", "willRetry", "error.message", "error.codexErrorInfo"],
  };
  assertFields("ServerNotification.json", notifications);
  assertFields(
    "ServerNotification.json",
    Object.fromEntries([...ignoredNotifications].map((name) => [name, []])),
  );
});

test("every request exists, with the fields that the driver reads", () => {
  const requests: Used<Requests> = {
    "item/commandExecution/requestApproval": [
      "threadId",
      "itemId",
      "kind",
      "command",
      "cwd",
      "reason",
      "additionalPermissions",
      "networkApprovalContext.host",
      "networkApprovalContext.protocol",
    ],
    "item/fileChange/requestApproval": ["threadId", "itemId", "reason", "grantRoot"],
    "item/permissions/requestApproval": ["threadId", "itemId", "reason", "permissions"],
    "item/tool/requestUserInput": [
      "threadId",
      "itemId",
      "questions.[].id",
      "questions.[].header",
      "questions.[].question",
      "questions.[].isOther",
      "questions.[].options.[].label",
    ],
    "mcpServer/elicitation/request": ["threadId", "serverName", "message", "_meta"],
  };
  assertFields("ServerRequest.json", requests);
});

test("a missing field is detected", () => {
  assert.throws(() => assertFields("ClientRequest.json", { "turn/start": ["nothing"] }), /nothing/);
  assert.throws(() => assertFields("ClientRequest.json", { "turn/none": [] }), /turn\/none/);
});
