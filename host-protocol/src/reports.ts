// What a daemon says by itself. Every message is a request that is answered, so that a daemon knows
// what has arrived; what was not answered is said again.
import { z } from "zod";
import { HostFacts } from "./facts.ts";

const seq = z.int().min(0);

/** One entry of a session's log. The host is its only writer; `seq` counts 1, 2, 3 … per session. */
export const LogEntry = z.strictObject({
  seq: z.int().min(1),
  at: z.iso.datetime(),
  turnId: z.string().nullable(),
  /** In the Agent Client Protocol's words where it has one, else in ours. */
  update: z.looseObject({ sessionUpdate: z.string().min(1) }),
});
export type LogEntry = z.infer<typeof LogEntry>;

/** Limits of one entry and of one report, in bytes of JSON; what is longer is cut or sent apart. */
export const largestEntry = 128 * 1024;
export const largestReport = 512 * 1024;

/**
 * What an update that was cut to fit says of itself, in its `_meta` under this name: the blob that is
 * the whole update as JSON, or why there is none. A blob is stored before the entry that names it is
 * reported, so whoever has the name can read it.
 */
export const wholeUpdate = "hawser/whole";
export const WholeUpdate = z.union([
  z.strictObject({ size: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  z.strictObject({ size: z.int(), omitted: z.string() }),
]);
export type WholeUpdate = z.infer<typeof WholeUpdate>;

/** The first thing on every connection: who I am, and how far my journal has got. */
export const Hello = z.strictObject({
  protocol: z.int(),
  /** Tells two machines apart that hold the same key, such as a copied disk. */
  machineId: z.string(),
  /** Made with the journal; another one means that the former is gone. */
  journalId: z.string(),
  /** Made at each start of the daemon. */
  bootId: z.string(),
  facts: HostFacts,
  sessions: z.array(z.strictObject({ sessionId: z.string(), lastSeq: seq })),
});
export type Hello = z.infer<typeof Hello>;

/** `forget`: the control plane does not know this host, or no longer. */
const Forget = z.strictObject({ forget: z.literal(true) });

export const HelloReply = z.union([
  z.strictObject({
    heartbeatSeconds: z.number(),
    /** Reconnects after an outage are spread over this long. */
    reconnectJitterSeconds: z.number(),
    /** How far each session's log has been applied; the journal continues after it. */
    sessions: z.array(z.strictObject({ sessionId: z.string(), appliedSeq: seq })),
  }),
  z.strictObject({ refused: z.literal("duplicate_host") }),
  Forget,
]);
export type HelloReply = z.infer<typeof HelloReply>;

export const Report = z.strictObject({
  journalId: z.string(),
  sessions: z.array(z.strictObject({ sessionId: z.string(), entries: z.array(LogEntry).min(1) })),
});
export type Report = z.infer<typeof Report>;

export const ReportReply = z.union([
  /** A session that is not named here is unknown; its entries need not be said again. */
  z.strictObject({ applied: z.array(z.strictObject({ sessionId: z.string(), appliedSeq: seq })) }),
  z.strictObject({ failed: z.literal(true) }),
  Forget,
]);
export type ReportReply = z.infer<typeof ReportReply>;

export const Heartbeat = z.strictObject({ bootId: z.string(), facts: HostFacts.optional() });
export type Heartbeat = z.infer<typeof Heartbeat>;

export const HeartbeatReply = z.union([z.strictObject({ nextSeconds: z.number() }), Forget]);
export type HeartbeatReply = z.infer<typeof HeartbeatReply>;

/** A fresh token, asked for on a live link. */
export const RenewReply = z.union([z.strictObject({ token: z.string() }), Forget]);
export type RenewReply = z.infer<typeof RenewReply>;

/** The last thing a daemon says when it stops on purpose. */
export const Bye = z.strictObject({ bootId: z.string() });
export type Bye = z.infer<typeof Bye>;
