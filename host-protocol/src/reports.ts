// Messages that a daemon sends by itself. Each is a request with a reply, so the daemon knows what has
// arrived. It sends unanswered messages again.
import { AddressProof } from "./address-proof.ts";
import { z } from "zod";
import { HostFacts } from "./facts.ts";
import { ForgetProof } from "./forget-proof.ts";

const seq = z.int().min(0);
/**
 * An id that a host makes. A node stores a journal's id in every session of the report, and reads it with each of
 * them, so a long one would cost the node many times the size of the message.
 */
const hostMadeId = z.string().max(200);
/** A NATS server's public key. Nodes ask the server by it, on a subject, so it must not contain anything else. */
const natsServerId = z.string().regex(/^N[A-Z2-7]{55}$/);

/** One entry of a session's log. The host is its only writer; `seq` counts 1, 2, 3 … per session. */
export const LogEntry = z.strictObject({
  seq: z.int().min(1),
  at: z.iso.datetime(),
  turnId: hostMadeId.nullable(),
  /** In terms of the Agent Client Protocol where it has one, else in our own. */
  update: z.looseObject({ sessionUpdate: z.string().min(1) }),
});
export type LogEntry = z.infer<typeof LogEntry>;

/** Limits of one entry and of one report, in bytes of JSON. Longer entries are cut, longer reports split. */
export const largestEntry = 128 * 1024;
export const largestReport = 512 * 1024;

/**
 * Name in `_meta` of an update that was cut. Its value names the blob with the whole update as JSON, or
 * says why there is none. The blob is stored before the entry that names it is reported, so a reader of
 * the entry can always read the blob.
 */
export const wholeUpdate = "hawser/whole";
export const WholeUpdate = z.union([
  z.strictObject({ size: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  z.strictObject({ size: z.int(), omitted: z.string() }),
]);
export type WholeUpdate = z.infer<typeof WholeUpdate>;

/** First message on every connection: the host's identity, and the position of its journal. */
export const Hello = z.strictObject({
  protocol: z.int(),
  /** Distinguishes two machines with the same key, such as a copied disk. */
  machineId: hostMadeId,
  /** Created with the journal. A different id means that the old journal is lost. */
  journalId: hostMadeId,
  /** Created at each start of the daemon. */
  bootId: hostMadeId,
  facts: HostFacts,
  sessions: z.array(z.strictObject({ sessionId: z.string(), lastSeq: seq })),
  /**
   * The connection that the hello is sent over, as the NATS server named it in its greeting. The answer comes
   * when presence has recorded this connection, so the host can then end another one and is not shown offline.
   * A daemon of version 0.1.0 does not send it.
   */
  connection: z.strictObject({ serverId: natsServerId, clientId: z.int().min(0) }).optional(),
  /** The address of the service that the host has dialled. A daemon of version 0.1.0 does not send it. */
  dialled: z.string().max(300).optional(),
});
export type Hello = z.infer<typeof Hello>;

/**
 * The host was removed. A daemon forgets only if the proof is valid, and else waits as for `unknown_host`. A
 * control plane of version 0.1.0 sends no proof.
 */
const Forget = z.strictObject({ forget: z.literal(true), proof: ForgetProof.optional() });
export type Forget = z.infer<typeof Forget>;

/**
 * Answers any message that was not processed: send it again after `retryAfterMs`, or later. A daemon does so
 * for words that it does not know, too.
 *
 * - `rate_limited`: the host sends too much.
 * - `quota_exceeded`, for reports only: its organization has used up the log bytes of the day.
 * - `unknown_host`: the control plane finds no record of this host, and none of its removal. The host keeps
 *   everything it has. A daemon of version 0.1.0 does not know this word, and repeats its message.
 */
export const Refused = z.strictObject({
  refused: z.enum(["rate_limited", "quota_exceeded", "unknown_host"]),
  retryAfterMs: z.int().min(0),
});
export type Refused = z.infer<typeof Refused>;

export const HelloReply = z.union([
  z.strictObject({
    heartbeatSeconds: z.number(),
    /** Hosts spread their reconnects after an outage over this time. */
    reconnectJitterSeconds: z.number(),
    /** The last applied seq of each session; the journal continues after it. */
    sessions: z.array(z.strictObject({ sessionId: z.string(), appliedSeq: seq })),
    /** The address to use instead of the dialled one, if the service has moved (decision 0078). */
    serverUrl: z.string().max(300).optional(),
  }),
  z.strictObject({ refused: z.literal("duplicate_host") }),
  Forget,
]);
export type HelloReply = z.infer<typeof HelloReply>;

export const Report = z.strictObject({
  journalId: hostMadeId,
  sessions: z.array(z.strictObject({ sessionId: z.string(), entries: z.array(LogEntry).min(1) })),
});
export type Report = z.infer<typeof Report>;

export const ReportReply = z.union([
  /** A session that is missing here is unknown; its entries need not be sent again. */
  z.strictObject({ applied: z.array(z.strictObject({ sessionId: z.string(), appliedSeq: seq })) }),
  z.strictObject({ failed: z.literal(true) }),
  Forget,
]);
export type ReportReply = z.infer<typeof ReportReply>;

export const Heartbeat = z.strictObject({ bootId: hostMadeId, facts: HostFacts.optional() });
export type Heartbeat = z.infer<typeof Heartbeat>;

export const HeartbeatReply = z.union([z.strictObject({ nextSeconds: z.number() }), Forget]);
export type HeartbeatReply = z.infer<typeof HeartbeatReply>;

export const NewToken = z.strictObject({
  token: z.string(),
  /** Only over HTTP, for a request with a challenge. */
  address: AddressProof.optional(),
});
export type NewToken = z.infer<typeof NewToken>;
/** Answer of a renewal, over the link or over HTTP. */
export const RenewReply = z.union([NewToken, Forget, Refused]);
export type RenewReply = z.infer<typeof RenewReply>;

/** Last message of a daemon that stops on purpose. */
export const Bye = z.strictObject({ bootId: hostMadeId });
export type Bye = z.infer<typeof Bye>;

export const ByeReply = z.strictObject({});
