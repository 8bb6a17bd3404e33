// The typed client of Hawser. It calls every action over REST, transfers files and follows both streams, in Node and in
// browsers. It imports no other package.
export { createClient } from "./client.ts";
export type { Client, ClientOptions, EntryOf, PagedAction } from "./client.ts";
export { Refused, Unanswered } from "./errors.ts";
export type { FieldError, RefusalBody, RetryAdvice } from "./errors.ts";
export type { UploadedFile, UploadOptions } from "./files.ts";
export type {
  FollowOptions,
  FollowSession,
  OrganizationEvent,
  SessionStreamEvent,
} from "./streams.ts";
export { actionNames } from "./actions.ts";
export type {
  AcceptedTurn,
  Actions,
  AgentIdentity,
  AgentKind,
  ApiKey,
  AuditEntry,
  CallOptions,
  Directory,
  Exposure,
  FileChange,
  HostOperation,
  InstallOutcome,
  Instance,
  InstanceDetail,
  LoginAttempt,
  Member,
  ModelListing,
  NewExposure,
  NewPreview,
  Organization,
  ParkedSession,
  RefusalCode,
  Repository,
  Request,
  RestartOutcome,
  Root,
  RootListing,
  Schedule,
  ScheduleRun,
  SealingKey,
  Session,
  SessionEvent,
  SessionListEntry,
  SessionOverview,
  SessionSummary,
  SessionUpdate,
  Settings,
  Trigger,
  Webhook,
  WebhookDelivery,
} from "./actions.ts";
