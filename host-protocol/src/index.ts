// Messages between control plane and daemon. Both import them from here; this package imports neither.
export {
  base32,
  isPublicNkey,
  isSignedBy,
  makeNkey,
  makeSigningKey,
  nkeyFromSeed,
  signWith,
  verifyNkey,
} from "./nkey.ts";
export type { Nkey, NkeyKind } from "./nkey.ts";
export {
  commandQueue,
  commandSubject,
  comparePresenceSubject,
  compareViewersSubject,
  edgeAdmittedSubject,
  edgeAliveSubject,
  edgeConnectionName,
  everyEdgeSubject,
  everyUpSubject,
  exposureHereSubject,
  exposureWhereSubject,
  hostPermissions,
  inboxPrefix,
  liveSubject,
  organizationChangedSubject,
  readUpSubject,
  sessionAppliedSubject,
  upQueue,
  upSubject,
} from "./subjects.ts";
export type { UpCall } from "./subjects.ts";
export {
  CommandBody,
  CommandReply,
  SignedCommand,
  hostCommands,
  isGenuine,
  signCommand,
} from "./commands.ts";
export type { CommandKind } from "./command-kind.ts";
export type { CommandOutcome, CommandResultOf, HostCommand, PayloadOf } from "./commands.ts";
export {
  LiveText,
  OpenText,
  SentAttachment,
  objectToAnswers,
  watchLeaseSeconds,
} from "./session-commands.ts";
export type { ReportedAgentKind } from "./session-commands.ts";
export type { HostRules } from "./session-rule-commands.ts";
export type { HostQueue } from "./session-queue-commands.ts";
export { ExposureScope } from "./exposure-commands.ts";
export { HostIdentity, OwnerId } from "./identity-commands.ts";
export { HostFacts } from "./facts.ts";
export { readAddressProof, signAddressProof } from "./address-proof.ts";
export { isForgetProven, signForgetProof } from "./forget-proof.ts";
export type { ForgetProof } from "./forget-proof.ts";
export { isServerUrl } from "./server-url.ts";
export {
  Bye,
  ByeReply,
  Heartbeat,
  HeartbeatReply,
  Hello,
  HelloReply,
  LogEntry,
  NewToken,
  Refused,
  RenewReply,
  Report,
  ReportReply,
  WholeUpdate,
  largestEntry,
  largestReport,
  wholeUpdate,
} from "./reports.ts";
export type { Forget } from "./reports.ts";
export {
  NonceReply,
  PairReply,
  PairRequest,
  RenewRequest,
  blobsPath,
  fabricPath,
  isBlobProofGood,
  isProofGood,
  isRenewGenuine,
  largestBlob,
  makeBlobProof,
  makeProof,
  makeRenewRequest,
  proofHeader,
  tunnelPath,
} from "./doors.ts";
export {
  AgentManifest,
  AgentTable,
  DaemonManifest,
  ManifestRefused,
  Platform,
  Version,
  isNewer,
  readManifest,
  signManifest,
} from "./signed-manifest.ts";
export type { AgentPackage, PublishedAgent, PublishedFile } from "./signed-manifest.ts";
export { protocolVersion } from "./versions.ts";
export { workerAnswers, workerCalls } from "./worker-messages.ts";
export type { WorkerCalls } from "./worker-messages.ts";
