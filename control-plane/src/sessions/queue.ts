// What the actions on waiting prompts do. The host has the queue; this adds the names of its people.
import type { QueueRecord, sessionQueueActions } from "@hawser/contract";
import type { HostQueue } from "@hawser/host-protocol";
import { onHost, type ChangeContext, type HandlersFor } from "../dispatch/handler.ts";
import { askHost, readFromHost, type HostTarget } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";
import { isOver } from "./lifecycle.ts";
import { readNames } from "./names.ts";

type Actions = typeof sessionQueueActions;

export const sessionQueueHandlers: HandlersFor<Actions, SessionServices> = {
  async list_queued_prompts(context, { sessionId }) {
    const { sql } = context;
    const row = await findSession(sql, sessionId);
    if (isOver(row.status)) return { sessionId, version: row.applied_seq, prompts: [] };
    const host = hostOf(row);
    const queue = await readFromHost(context, host, "list_queued_prompts", { sessionId });
    return queueRecord(sql, sessionId, queue);
  },

  update_queued_prompt: onHost({
    prepare,
    ask: (context, wanted, { ownerId, ...host }) =>
      askHost(context, host, "update_queued_prompt", { ...wanted, ownerId }),
    conclude,
  }),
  hold_queued_prompt: onHost({
    prepare,
    ask: (context, { held = true, ...wanted }, { ownerId, ...host }) =>
      askHost(context, host, "hold_queued_prompt", { ...wanted, held, ownerId }),
    conclude,
  }),
  move_queued_prompt: onHost({
    prepare,
    ask: (context, wanted, { ownerId, ...host }) =>
      askHost(context, host, "move_queued_prompt", { ...wanted, ownerId }),
    conclude,
  }),
  remove_queued_prompt: onHost({
    prepare,
    ask: (context, wanted, { ownerId, ...host }) =>
      askHost(context, host, "remove_queued_prompt", { ...wanted, ownerId }),
    conclude,
  }),
  send_queued_prompt_now: onHost({
    prepare,
    ask: (context, wanted, { ownerId, ...host }) =>
      askHost(context, host, "send_queued_prompt_now", { ...wanted, ownerId }),
    conclude,
  }),
};

interface Intent extends HostTarget {
  ownerId: string | null;
}

async function prepare(
  { sql, caller }: ChangeContext,
  { sessionId }: { sessionId: string },
): Promise<Intent> {
  const row = await findSession(sql, sessionId);
  refuseOver(row);
  return { ...hostOf(row), ownerId: ownerIdOf(caller) };
}

function conclude(
  { sql }: ChangeContext,
  { sessionId }: { sessionId: string },
  _intent: Intent,
  queue: HostQueue,
): Promise<QueueRecord> {
  return queueRecord(sql, sessionId, queue);
}

async function queueRecord(
  sql: TenantSql,
  sessionId: string,
  { version, prompts }: HostQueue,
): Promise<QueueRecord> {
  const shown = prompts.flatMap(({ by, holds }) => [by, ...holds.map((hold) => hold.by)]);
  const named = await readNames(sql, shown);
  return {
    sessionId,
    version,
    prompts: prompts.map((prompt) => ({
      ...prompt,
      by: named(prompt.by),
      holds: prompt.holds.map(({ by, until }) => ({ by: named(by), until })),
    })),
  };
}
