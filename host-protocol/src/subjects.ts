// The subjects of the fabric, in one place. A host's own id is one token of each of its subjects,
// and its credential allows no other.

/** Where a host takes commands. All its connections share one queue group. */
export const commandSubject = (instanceId: string) => `host.${instanceId}.cmd`;
export const commandQueue = "daemon";

/** What a host asks of the control plane. */
export type UpCall = "hello" | "report" | "heartbeat" | "renew" | "bye";
export const upSubject = (instanceId: string, call: UpCall) => `host.${instanceId}.up.${call}`;
/** All of it, for the nodes, which share the work in one queue group. */
export const everyUpSubject = "host.*.up.*";
export const upQueue = "nodes";

/** The instance and the call that an up subject names. */
export function readUpSubject(subject: string): { instanceId: string; call: UpCall } {
  const [, instanceId, , call] = subject.split(".");
  return { instanceId: instanceId!, call: call as UpCall };
}

/** Where answers to a host's own requests arrive. */
export const inboxPrefix = (instanceId: string) => `_INBOX.${instanceId}`;

/** What a host's credential lets it do, and nothing beside it. */
export function hostPermissions(instanceId: string) {
  return {
    publish: [`host.${instanceId}.up.>`, `host.${instanceId}.live.>`],
    subscribe: [commandSubject(instanceId), `${inboxPrefix(instanceId)}.>`],
  };
}

/** Where a host publishes what a session's agent is writing, while someone watches. */
export const liveSubject = (instanceId: string, sessionId: string) =>
  `host.${instanceId}.live.${sessionId}`;

/** Notices among nodes. They carry hints; whoever misses one finds out from the database. */
export const organizationChangedSubject = (organizationId: string) =>
  `org.${organizationId}.changed`;
/** Entries of a session's log were stored: the number of the last. */
export const sessionAppliedSubject = (sessionId: string) => `session.${sessionId}.applied`;
/** An edge says which host came in through it. */
export const edgeAdmittedSubject = "edge.admitted";
/** The name of an edge's own connection, by which its death is seen. */
export const edgeConnectionName = (edgeId: string) => `edge.${edgeId}`;
