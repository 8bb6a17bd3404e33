// The public promise, as data: actions, records, refusals and permissions. Every other part of the
// product imports it from here; it imports none of them.
export { action, grantLevels } from "./action.ts";
export type { Action, Actions, Effect, GrantLevel, InputOf, ResultOf } from "./action.ts";

export { actionNames, extensionNames, registry } from "./registry.ts";
export type { ActionName } from "./registry.ts";
export { accessActions } from "./actions/access.ts";
export { agentActions } from "./actions/agents.ts";
export { exposureActions } from "./actions/exposures.ts";
export { identityActions } from "./actions/identities.ts";
export { instanceActions } from "./actions/instances.ts";
export { peopleActions } from "./actions/people.ts";
export { requestActions } from "./actions/requests.ts";
export { roleActions } from "./actions/roles.ts";
export { scheduleActions } from "./actions/schedules.ts";
export { sessionGrantActions } from "./actions/session-grants.ts";
export { sessionEntryActions } from "./actions/session-entry.ts";
export { sessionFileActions } from "./actions/session-files.ts";
export { sessionQueueActions } from "./actions/session-queue.ts";
export { sessionRuleActions } from "./actions/session-rules.ts";
export { sessionTurnActions } from "./actions/session-turns.ts";
export { sessionActions } from "./actions/sessions.ts";
export { triggerActions } from "./actions/triggers.ts";
export { webhookActions } from "./actions/webhooks.ts";

export { groups, groupsOnRequest } from "./groups.ts";
export { Refusal, commonRefusals, errorBody, hostRefusals, notFound, refusals } from "./errors.ts";
export type { ErrorBody, FieldError, RefusalCode, RefusalDetails, RetryAdvice } from "./errors.ts";

export {
  PermissionName,
  RoleName,
  isBuiltInRole,
  agentKeyPermissions,
  permissionNames,
  permissions,
  roles,
} from "./permissions.ts";
export type { BuiltInRole, Permission } from "./permissions.ts";

export {
  ApiKeyId,
  AuditId,
  DeliveryId,
  ExposureId,
  InstanceId,
  InvitationId,
  LoginId,
  OrganizationId,
  RequestId,
  RunId,
  ScheduleId,
  SessionId,
  SignInId,
  TriggerId,
  UserId,
  WebhookId,
  formatId,
  idPrefixes,
  parseId,
} from "./ids.ts";
export type { IdKind } from "./ids.ts";

export {
  nameOfRepository,
  objectToCheckoutName,
  objectToCloneUrl,
  isInsecureCloneUrl,
  objectToHostedRepository,
} from "./clone-source.ts";
export type { Objection } from "./clone-source.ts";
export { objectToGateway } from "./link-way.ts";
export { DateTime, Instant, TimeZone, isDateTime, isTimeZone } from "./moments.ts";
export { seal } from "./seal.ts";
export { AbsolutePath, codePointLength, neverLogged, text } from "./text.ts";

export {
  AgentPolicy,
  ApiKeyRecord,
  AuditEntry,
  KeyScope,
  LoginWay,
  MemberRecord,
  OrganizationRecord,
  RoleRecord,
  SettingsRecord,
} from "./records/access.ts";
export { Caller, Starter, UserReference } from "./records/actor.ts";
export {
  AgentKind,
  AgentKindRecord,
  AgentProblem,
  Capability,
  Fallback,
  FallbackEntry,
  FallbackEntryInput,
  LinkableKind,
  ModelChoice,
  ModelListing,
  SkippedKind,
} from "./records/agent-kind.ts";
export {
  DirectoryRecord,
  HostedRepositoryRecord,
  RootListing,
  RootRecord,
} from "./records/directory.ts";
export { SessionGrantRecord, SessionLinkRecord } from "./records/session-grant.ts";
export { ExposureRecord, NewExposure, NewPreview } from "./records/exposure.ts";
export { IdentityRecord, IdentityWay, LinkWay, SealingKey } from "./records/identity.ts";
export {
  HostOperation,
  HostWarning,
  InstanceDetail,
  InstanceRecord,
  InstanceStatus,
  InstanceStatusReason,
} from "./records/instance.ts";
export { LoginFlow, LoginRecord } from "./records/login.ts";
export {
  ConnectedIdentityRecord,
  InvitationRecord,
  SignInRecord,
  SignInSettingsRecord,
} from "./records/people.ts";
export {
  AnswerOutcome,
  AskedPermission,
  AskedQuestion,
  PermissionAnswer,
  RequestRecord,
} from "./records/request.ts";
export { QueuedPromptType, QueueRecord } from "./records/queued-prompt.ts";
export { Frequency, ScheduleRecord, ScheduleRun } from "./records/schedule.ts";
export {
  Continuation,
  FileChange,
  LiveSession,
  SessionActivity,
  ParkedSession,
  SessionGit,
  SessionEvent,
  SessionListEntry,
  SessionRecord,
  SessionStatus,
  SessionSummary,
  Usage,
} from "./records/session.ts";
export { SessionRules } from "./records/session-rule.ts";
export { SessionCommand } from "./records/session-command.ts";
export { TurnRecord } from "./records/session-turn.ts";
export { SessionCounts, SessionGroup, SessionOverview } from "./records/session-overview.ts";
export {
  DeliveryError,
  WebhookDelivery,
  WebhookEvent,
  WebhookRecord,
  webhookEvents,
} from "./records/webhook.ts";
export { narrower, SessionMode } from "./records/session-mode.ts";
export { TriggerEvent, TriggerRecord, TriggerSource } from "./records/trigger.ts";
export { originOf, TrustedPart, TrustedRepository } from "./records/trusted-repository.ts";
export { TurnOutcome, readUpdate, sessionUpdates } from "./session-log/updates.ts";
export type { SessionUpdate, ToolContent, UpdateOf } from "./session-log/updates.ts";

export { received } from "./received.ts";
export type { MessageSchema } from "./received.ts";
