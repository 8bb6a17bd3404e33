// The subjects of the fabric, in one place. Each subject of a host contains its id, and its credential
// allows no other subjects.

/** Subject of commands to a host. All its connections share one queue group. */
export const commandSubject = (instanceId: string) => `host.${instanceId}.cmd`;
export const commandQueue = "daemon";

/** Subject of messages from a host. */
export type UpCall = "hello" | "report" | "heartbeat" | "renew" | "bye";
export const upSubject = (instanceId: string, call: UpCall) => `host.${instanceId}.up.${call}`;
/** Messages from all hosts. The nodes share them in one queue group. */
export const everyUpSubject = "host.*.up.*";
export const upQueue = "nodes";

/** Instance and call in a subject of messages from a host. */
export function readUpSubject(subject: string): { instanceId: string; call: UpCall } {
  const [, instanceId, , call] = subject.split(".");
  return { instanceId: instanceId!, call: call as UpCall };
}

/** Subject of replies to a host's messages. */
export const inboxPrefix = (instanceId: string) => `_INBOX.${instanceId}`;

/** The complete permissions of a host's credential. */
export function hostPermissions(instanceId: string) {
  return {
    publish: [`host.${instanceId}.up.>`, `host.${instanceId}.live.>`],
    subscribe: [commandSubject(instanceId), `${inboxPrefix(instanceId)}.>`],
  };
}

/** Subject of live text, published while someone watches. */
export const liveSubject = (instanceId: string, sessionId: string) =>
  `host.${instanceId}.live.${sessionId}`;

/** Notices between nodes. They are hints: a node that misses one reads the database. */
export const organizationChangedSubject = (organizationId: string) =>
  `org.${organizationId}.changed`;
/** Entries of a session's log were stored; the notice has the last seq. */
export const sessionAppliedSubject = (sessionId: string) => `session.${sessionId}.applied`;
/** A node asks the one that leads presence to compare it with the lists of all NATS servers. */
export const comparePresenceSubject = "presence.compare";
/** A node asks every node to compare what viewers show with the database. */
export const compareViewersSubject = "viewers.compare";
/** A host connected through this edge. */
export const edgeAdmittedSubject = "edge.admitted";
/** The question whether an edge is alive. An edge that is stopping or dead does not listen. */
export const edgeAliveSubject = (edgeId: string) => `edge.${edgeId}.alive`;
/**
 * The question to all edges for their load. Every edge file allows it, because the file allows an edge to
 * listen for the question whether any edge is alive.
 */
export const everyEdgeSubject = edgeAliveSubject("every");
/** Name of an edge's own connection. */
export const edgeConnectionName = (edgeId: string) => `edge.${edgeId}`;
/** The question which node holds the tunnel of an exposure. Only nodes that hold one listen. */
export const exposureWhereSubject = (exposureId: string) => `exposure.${exposureId}.where`;
/** A tunnel of an exposure was opened; the notice has the address of the node that holds it. */
export const exposureHereSubject = (exposureId: string) => `exposure.${exposureId}.here`;
