// Work for a session that becomes a turn: prompts with their files, slash commands, summaries. The
// host answers when it has accepted the work; the log reports the results.
import {
  Refusal,
  formatId,
  narrower,
  parseId,
  type Capability,
  type SessionMode,
  type sessionTurnActions,
} from "@hawser/contract";
import { hostCommands, type SentAttachment } from "@hawser/host-protocol";
import type { Caller } from "../dispatch/caller.ts";
import {
  onHost,
  type ChangeContext,
  type HostHandler,
  type UnknownOutcome,
} from "../dispatch/handler.ts";
import { notifyAfterCommit } from "../events/viewers.ts";
import { useFiles } from "../files/files.ts";
import { decodeDataUrl } from "../files/data-url.ts";
import { askHost, type HostTarget } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";
import { refusePrompt } from "./schedule-terms.ts";
import * as store from "./store.ts";

type Actions = typeof sessionTurnActions;

interface Intent extends HostTarget {
  /** Who gives the work, if a person does. The host compares it with the owner of the session's account. */
  ownerId: string | null;
  highestMode: SessionMode;
  /** The seq of the newest log entry when the call began. */
  appliedSeq: number;
  /** Whose agent account the session uses, by the stored id; null: the host's own. */
  accountUserId: string | null;
}

/** The blobs of the uploaded files among the attachments, by file id. */
type UploadedFiles = Record<string, { sha256: string; size: number }>;

const mostAttachments = 20;

export const sendPrompt: HostHandler<Actions["send_prompt"], SessionServices> = onHost({
  async prepare(context, { sessionId, attachments = [] }) {
    const { sql, caller } = context;
    const row = await findSession(sql, sessionId);
    refuseOver(row);
    await refuseForSchedule(context, row, false);
    auditAccount(context, row.account_user_id);
    checkAttachments(attachments);
    if (caller.sessionId !== null) refuseFetches(attachments);
    const fileIds = attachments.flatMap(({ fileId }) => fileId ?? []);
    const found = await useFiles(sql, [...new Set(fileIds)]);
    const files: UploadedFiles = {};
    for (const [fileId, { sha256, size }] of found) files[fileId] = { sha256, size };
    const highestMode = await highestModeFor(sql, caller, row);
    const ownerId = ownerIdOf(caller);
    const { applied_seq: appliedSeq, account_user_id: accountUserId } = row;
    return { ...hostOf(row), appliedSeq, accountUserId, highestMode, files, ownerId };
  },
  async beforeRetry(context, { sessionId }) {
    const { sql, caller } = context;
    if (caller.schedule) await refuseForSchedule(context, await findSession(sql, sessionId), true);
  },
  async ask(
    context,
    { sessionId, text, model, options, agent, attachments = [] },
    { files, highestMode, ownerId, ...host },
  ) {
    const sent: SentAttachment[] = [];
    for (const each of attachments) sent.push(await toSentAttachment(context, each, files));
    return askHost(context, host, "send_prompt", {
      sessionId,
      text,
      highestMode,
      ownerId,
      ...(model && { model: { providerId: model.providerID, modelId: model.modelID } }),
      ...(options && { options }),
      ...(agent !== undefined && { agent }),
      ...(sent.length > 0 && { attachments: sent }),
    });
  },
  conclude(context, { sessionId }, intent, { turnId, messageId, queued, model }) {
    recordTurn(context, sessionId, intent, { turnId, model, queued });
    recordKey(context, sessionId, turnId);
    return { sessionId, turnId, messageId, queued };
  },
  unknown: (_context, _input, intent, mayBeginMs) => howToLook(intent, mayBeginMs),
});

export const runCommand: HostHandler<Actions["run_command"], SessionServices> = onHost({
  prepare: (context, { sessionId }) => prepareWith(context, sessionId, "commands"),
  ask: (context, { sessionId, command, arguments: text = "", agent }, host) =>
    askHost(context, host, "run_command", {
      sessionId,
      command,
      arguments: text,
      highestMode: host.highestMode,
      ownerId: host.ownerId,
      ...(agent !== undefined && { agent }),
    }),
  conclude(context, { sessionId }, intent, { turnId, messageId, queued, model }) {
    recordTurn(context, sessionId, intent, { turnId, model, queued });
    recordKey(context, sessionId, turnId);
    return { sessionId, turnId, messageId, queued };
  },
  unknown: (_context, _input, intent, mayBeginMs) => howToLook(intent, mayBeginMs),
});

export const summarizeSession: HostHandler<Actions["summarize_session"], SessionServices> = onHost({
  prepare: (context, { sessionId }) => prepareWith(context, sessionId, "summarize"),
  ask: (context, { sessionId }, host) =>
    askHost(context, host, "summarize_session", { sessionId, ownerId: host.ownerId }),
  conclude(context, { sessionId }, intent, { turnId }) {
    recordTurn(context, sessionId, intent, { turnId, model: null, queued: false });
    return { sessionId, status: "in_progress" };
  },
  unknown: (_context, _input, intent, mayBeginMs) => howToLook(intent, mayBeginMs),
});

/**
 * The text of the command is sent to the host and stored nowhere: it is not part of the intent, which
 * is stored.
 */
export const runShell: HostHandler<Actions["run_shell"], SessionServices> = onHost({
  prepare: (context, { sessionId }) => prepareWith(context, sessionId, "shell"),
  ask: (context, { sessionId, command, agent }, host) =>
    askHost(context, host, "run_shell", {
      sessionId,
      command,
      ownerId: host.ownerId,
      ...(agent !== undefined && { agent }),
    }),
  conclude({ sql }, { sessionId }, { appliedSeq }, { shellId }) {
    const key = [sql.organizationId, parseId("session", sessionId)!];
    sql.later(store.lockSession, ...key);
    sql.later(store.recordAcceptedShell, ...key, shellId, appliedSeq);
    return { sessionId, shellId };
  },
  unknown: (_context, _input, intent, mayBeginMs) => howToLook(intent, mayBeginMs),
});

/** The longest wait of wait_for_session, and how long the host's report may take, in seconds. */
const longestWait = 25;
const reportTime = 5;

/**
 * Until the deadline of the command has passed, an idle session does not mean that nothing will run. With
 * `sinceSeq`, wait_for_session waits that long, so a caller that has no clock can follow the advice too.
 */
async function howToLook(
  { appliedSeq }: Pick<Intent, "appliedSeq">,
  mayBeginMs: number = hostCommands.send_prompt.deadlineMs,
): Promise<UnknownOutcome> {
  const seconds = Math.ceil(mayBeginMs / 1000);
  const timeout = Math.min(seconds + reportTime, longestWait);
  const sentences = [
    ...(seconds > 0 ? [`It can still take effect for ${seconds} seconds.`] : []),
    `Before you call again, call wait_for_session with sinceSeq ${appliedSeq} and timeoutSeconds ${timeout}.`,
    "If `reachable` is false then, call it again.",
    `If \`lastSeq\` is still ${appliedSeq}, this call had no effect;`,
    `otherwise list_session_events with after ${appliedSeq} shows ${seconds > 0 ? "after that time " : ""}whether it had one.`,
  ];
  return { advice: sentences.join(" ") };
}

async function prepareWith(
  context: ChangeContext,
  sessionId: string,
  capability: Capability,
): Promise<Intent> {
  const { sql, caller } = context;
  const row = await findSession(sql, sessionId);
  refuseOver(row);
  auditAccount(context, row.account_user_id);
  refuseWithout(row, capability);
  const { applied_seq: appliedSeq, highest_mode: highestMode } = row;
  const accountUserId = row.account_user_id;
  return { ...hostOf(row), appliedSeq, accountUserId, highestMode, ownerId: ownerIdOf(caller) };
}

/** Throws capability_missing if the session's agent cannot do this. */
export function refuseWithout(
  row: Pick<store.SessionRow, "capabilities" | "agent_kind">,
  capability: Capability,
): void {
  if (row.capabilities.includes(capability)) return;
  const instead =
    capability === "summarize" && row.capabilities.includes("commands")
      ? 'Call run_command with the command "compact" instead.'
      : "list_agent_kinds lists the kinds that do.";
  const message = `Sessions of ${row.agent_kind} do not have the capability ${capability}. ${instead}`;
  throw new Refusal("capability_missing", message);
}

/** Does nothing unless the service prompts for a schedule or trigger. */
async function refuseForSchedule(
  { sql, caller: { schedule } }: ChangeContext,
  row: store.SessionRow,
  isRepeated: boolean,
): Promise<void> {
  if (!schedule) return;
  const host = await sql.first(store.selectHostKey, sql.organizationId, row.instance_id);
  refusePrompt(schedule, { ...row, host_key: host?.host_key ?? null }, isRepeated);
}

/** A prompt to a session that uses the account of another member is audited with the names of both. */
function auditAccount({ caller, auditedIds }: ChangeContext, accountUserId: string | null): void {
  if (!accountUserId || accountUserId === caller.userId) return;
  auditedIds["accountUserId"] = formatId("user", accountUserId);
}

function recordTurn(
  context: ChangeContext & SessionServices,
  sessionId: string,
  { appliedSeq, accountUserId }: Pick<Intent, "appliedSeq" | "accountUserId">,
  turn: { turnId: string; model: object | null; queued: boolean },
): void {
  const { sql } = context;
  auditAccount(context, accountUserId);
  const key = [sql.organizationId, parseId("session", sessionId)!];
  // Lock the session first, so that the next statement sees everything the log has reported until then.
  sql.later(store.lockSession, ...key);
  const { turnId, model, queued } = turn;
  sql.later(store.recordAcceptedTurn, ...key, turnId, appliedSeq, model, queued);
  notifyAfterCommit(context, { sessions: [sessionId] });
}

/** Records with which key the turn would be continued, if its quota runs out. */
function recordKey({ sql, caller }: ChangeContext, sessionId: string, turnId: string): void {
  const { apiKeyId, schedule = null } = caller;
  const id = parseId("session", sessionId)!;
  sql.later(store.insertTurnKey, sql.organizationId, id, turnId, apiKeyId, schedule);
}

/** A session that an agent prompts may do no more than the agent's own session may do now. */
async function highestModeFor(
  sql: TenantSql,
  { sessionId }: Caller,
  { highest_mode }: store.SessionRow,
): Promise<SessionMode> {
  const own = sessionId && (await sql.first(store.selectSession, sql.organizationId, sessionId));
  return own ? narrower(highest_mode, own.mode) : highest_mode;
}

/** The host would fetch the address, which an agent must ask a person for. */
function refuseFetches(attachments: readonly Attached[]): void {
  if (!attachments.some(({ url }) => url !== undefined && /^https:/i.test(url))) return;
  throw new Refusal(
    "forbidden",
    "A key that an agent holds cannot attach files by https address. Upload the file, or send it as a data: address.",
  );
}

interface Attached {
  mime: string;
  fileId?: string | undefined;
  url?: string | undefined;
  filename?: string | undefined;
}

function checkAttachments(attachments: readonly Attached[]): void {
  if (attachments.length > mostAttachments) {
    throw invalid("attachments", `must be at most ${mostAttachments} files`);
  }
  for (const [index, { mime, url }] of attachments.entries()) {
    if (!/^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(mime)) {
      throw invalid(`attachments.${index}.mime`, "must be a media type, such as image/png");
    }
    if (url && /^data:/i.test(url) && !decodeDataUrl(url)) {
      throw invalid(`attachments.${index}.url`, "must be a data: address that can be decoded");
    }
  }
}

/** The host receives the name of a blob or an address, never the bytes themselves. */
async function toSentAttachment(
  { files, caller: { organizationId } }: { caller: { organizationId: string } } & SessionServices,
  { mime, fileId, url, filename }: Attached,
  uploaded: UploadedFiles,
): Promise<SentAttachment> {
  const named = { mime, filename: filename ? shownName(filename) : null };
  if (fileId !== undefined) return { ...named, fileId, from: uploaded[fileId]! };
  const bytes = decodeDataUrl(url!);
  if (!bytes) return { ...named, from: { url: url! } };
  const stored = await files.add({
    organizationId,
    mime,
    filename: named.filename,
    size: bytes.length,
    async *body() {
      yield bytes;
    },
  });
  return { ...named, fileId: stored.fileId, from: { sha256: stored.sha256, size: stored.size } };
}

const shownName = (name: string) => name.replaceAll(/[\p{Cc}/\\]/gu, "_").slice(0, 255);

const invalid = (field: string, message: string) =>
  new Refusal("invalid_input", `The field ${field} ${message}.`, { fields: [{ field, message }] });
