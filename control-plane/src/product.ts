// The coding product: which registry this node serves, and which handlers answer it.
import { readFileSync } from "node:fs";
import { formatId, groups, groupsOnRequest, registry } from "@hawser/contract";
import { accessHandlers } from "./access/handlers.ts";
import type { KeyServices } from "./access/keys.ts";
import { roleHandlers } from "./access/role-handlers.ts";
import { agentHandlers } from "./agents/handlers.ts";
import type { HandlersFor } from "./dispatch/handler.ts";
import { identityHandlers } from "./identities/handlers.ts";
import { forkHandlers } from "./forks/handlers.ts";
import { doorPaths, doorSchemas } from "./doors.ts";
import { guide } from "./model-guide/guide.ts";
import { instanceHandlers, type InstanceServices } from "./instances/handlers.ts";
import { peopleHandlers, type PeopleServices } from "./sign-in/handlers.ts";
import { requestHandlers } from "./requests/handlers.ts";
import { sessionRequests } from "./requests/of-sessions.ts";
import { scheduleHandlers } from "./schedules/handlers.ts";
import { moveRunsToKey } from "./schedules/run-store.ts";
import { moveSchedulesToKey } from "./schedules/store.ts";
import { sessionLogHandlers } from "./session-log/handlers.ts";
import type { SessionServices } from "./sessions/find-session.ts";
import { sessionGrantHandlers } from "./sessions/grants.ts";
import { sessionFileHandlers } from "./sessions/files.ts";
import { sessionHandlers } from "./sessions/handlers.ts";
import { sessionExists } from "./sessions/store.ts";
import { sessionQueueHandlers } from "./sessions/queue.ts";
import { sessionRuleHandlers } from "./sessions/rules.ts";
import { sessionTurnHandlers } from "./sessions/turns.ts";
import { triggerHandlers, type TriggerServices } from "./triggers/handlers.ts";
import { sessionEntryHandlers } from "./session-log/whole-entry.ts";
import type { SessionLogServices } from "./session-log/wait.ts";
import { exposureHandlers, type ExposureServices } from "./exposures/handlers.ts";
import { webhookHandlers, type WebhookServices } from "./webhooks/handlers.ts";
import { moveWebhooksToKey } from "./webhooks/store.ts";
import type { Example } from "./transports/openapi.ts";
import type { Product } from "./transports/serve.ts";

export type Services = KeyServices &
  InstanceServices &
  SessionServices &
  SessionLogServices &
  TriggerServices &
  WebhookServices &
  ExposureServices &
  PeopleServices;

export const handlers: HandlersFor<typeof registry, Services> = {
  ...accessHandlers,
  ...roleHandlers,
  ...peopleHandlers,
  ...agentHandlers,
  ...identityHandlers,
  ...instanceHandlers,
  ...sessionHandlers,
  ...sessionTurnHandlers,
  ...sessionQueueHandlers,
  ...sessionRuleHandlers,
  ...sessionFileHandlers,
  ...sessionGrantHandlers,
  ...sessionLogHandlers,
  ...sessionEntryHandlers,
  ...forkHandlers,
  ...requestHandlers,
  ...scheduleHandlers,
  ...triggerHandlers,
  ...webhookHandlers,
  ...exposureHandlers,
};

/** Functions of one folder that a folder below it calls; imports only point downwards. */
export const calledFromBelow: Pick<
  Services,
  "sessionExists" | "sessionRequests" | "moveSchedules" | "moveWebhooks"
> = {
  sessionExists: async (sql, id) =>
    (await sql.first(sessionExists, sql.organizationId, id)) !== undefined,
  sessionRequests,
  moveSchedules(sql, from, to) {
    sql.later(moveSchedulesToKey, sql.organizationId, from, to, formatId("apiKey", to));
    sql.later(moveRunsToKey, sql.organizationId, from, to);
  },
  moveWebhooks: (sql, from, to) =>
    sql.later(moveWebhooksToKey, sql.organizationId, from, to, formatId("apiKey", to)),
};

/** Recorded by `npm run examples`. */
function readExamples(): Record<string, Example> {
  const text = readFileSync(new URL("examples.json", import.meta.url), "utf8");
  return JSON.parse(text) as Record<string, Example>;
}

export const codeApi: Product = {
  title: "Code API",
  version: "1.0.0",
  summary: "Coding agents on an organization's own hosts.",
  name: "hawser",
  actions: registry,
  groupsOnRequest,
  guide,
  described: { groups, examples: readExamples(), paths: doorPaths, schemas: doorSchemas },
};
