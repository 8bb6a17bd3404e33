// What a worker of a separated host asks of the front. Agents may have taken the worker over, so the front reads
// nothing that these schemas do not allow. Front and worker are always of the same version.
import { AgentKind, HostOperation, HostWarning, RootRecord, SessionId } from "@hawser/contract";
import { z } from "zod";
import { CommandReply, hostCommands } from "./commands.ts";
import { HostFacts } from "./facts.ts";
import { LogEntry } from "./reports.ts";
import { LiveText } from "./session-commands.ts";

/**
 * Lists have limits, because each wrong element of a list costs time and memory. They are above what a worker sends:
 * a report has at most 500 entries.
 */
const most = { entries: 500, sessions: 20_000, listed: 1_000 };

/** Bodies of the calls that a worker makes, except for those that transfer blobs. */
export const workerCalls = {
  report: z.strictObject({
    sessions: z
      .array(
        z.strictObject({
          sessionId: SessionId,
          entries: z.array(LogEntry).min(1).max(most.entries),
        }),
      )
      .max(most.entries),
  }),
  /** Names sessions in a hello. */
  introduce: z.strictObject({
    sessions: z
      .array(z.strictObject({ sessionId: SessionId, lastSeq: z.int().min(0) }))
      .max(most.sessions),
  }),
  publish: z.strictObject({ sessionId: SessionId, text: LiveText }),
  unseal: hostCommands.link_identity.payload,
  sealing_key: z.strictObject({}),
  operations: z.strictObject({ operations: z.array(HostOperation).max(50) }),
  facts_changed: z.strictObject({}),
};
export type WorkerCalls = {
  [Name in keyof typeof workerCalls]: z.infer<(typeof workerCalls)[Name]>;
};

/** A worker's answers to calls of the front. */
export const workerAnswers = {
  /** Null if no reply may be sent. */
  command: z.object({ reply: CommandReply }).nullable(),
  facts: HostFacts.pick({ codeHostingCli: true }).extend({
    roots: z.array(RootRecord).max(most.listed),
    warnings: z.array(HostWarning).max(most.listed),
  }),
  kinds: z.array(AgentKind).max(most.listed),
};
