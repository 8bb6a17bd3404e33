// The files of a session: its changes and commits, reverting them, and restoring ended sessions. The host is asked;
// its last answers about changes and commits are stored for when it is away.
import {
  Refusal,
  formatId,
  narrower,
  notFound,
  parseId,
  type FileChange,
  type ResultOf,
  type sessionActions,
  type sessionFileActions,
} from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import { callerReference } from "../access/caller-reference.ts";
import {
  onHost,
  type HandlersFor,
  type HostHandler,
  type ReadContext,
} from "../dispatch/handler.ts";
import { notifyAfterCommit } from "../events/viewers.ts";
import { hostOffline } from "../fabric/host-asker.ts";
import { askHost, findHost, readFromHost } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import { authorFor } from "./author.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";
import * as files from "./file-store.ts";
import { isOver } from "./lifecycle.ts";
import { recordStart, recordStartUnknown, deleteRefusedStart, trustedForHost } from "./start.ts";
import * as store from "./store.ts";

interface Diff {
  files: FileChange[];
  truncated: boolean;
  live: boolean;
  takenAt: string | null;
}

const neverRead =
  "This session has ended, and its diff was not read before it ended. If its host has parked the files, call restore_session to see them.";

export async function getSessionDiff(
  context: ReadContext & SessionServices,
  { sessionId }: { sessionId: string },
): Promise<Diff> {
  const { sql } = context;
  const row = await findSession(sql, sessionId);
  const key = [sql.organizationId, row.session_id] as const;
  let answer: CommandResultOf<"diff_session">;
  try {
    if (isOver(row.status)) throw new Refusal("session_ended", neverRead);
    answer = await readFromHost(context, hostOf(row), "diff_session", { sessionId });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "not_a_repository") throw error;
    // If the host cannot answer, the stored list is better than none.
    const kept = await sql.first(files.selectDiff, ...key);
    if (!kept && error.code === "session_ended") throw error;
    const { files: last = [], truncated = false } = kept ?? {};
    return {
      files: last.map(withAllFields),
      truncated,
      live: false,
      takenAt: kept?.taken_at ?? null,
    };
  }
  const kept = await sql.first(
    files.keepDiff,
    ...key,
    JSON.stringify(answer.files),
    answer.truncated,
  );
  if (!kept) throw notFound("session");
  return { ...answer, live: true, takenAt: kept.taken_at };
}

/** Lists that were stored by earlier versions do not have these fields. */
const withAllFields = (file: files.StoredChange): FileChange => ({
  status: null,
  previousPath: null,
  isBinary: null,
  ...file,
});

const neverCounted =
  "This session has ended, and its commits were not counted before it ended. If its host has parked the files, call restore_session to see them.";

type GitAnswer = ResultOf<(typeof sessionFileActions)["get_session_git"]>;

/** As get_session_diff: if the host cannot answer, its last answer is better than none. */
async function getSessionGit(
  context: ReadContext & SessionServices,
  { sessionId }: { sessionId: string },
): Promise<GitAnswer> {
  const { sql } = context;
  const row = await findSession(sql, sessionId);
  const key = [sql.organizationId, row.session_id] as const;
  let answer: CommandResultOf<"read_session_git">;
  try {
    if (isOver(row.status)) throw new Refusal("session_ended", neverCounted);
    answer = await readFromHost(context, hostOf(row), "read_session_git", { sessionId });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "not_a_repository") throw error;
    const kept = await sql.first(files.selectGit, ...key);
    if (!kept?.state && error.code === "session_ended") throw error;
    return gitOf(kept, false);
  }
  const kept = await sql.first(files.keepGit, ...key, JSON.stringify(answer));
  if (!kept) throw notFound("session");
  return gitOf(kept, true);
}

const neverAnswered = {
  branch: null,
  base: null,
  commits: null,
  unpushedCommits: null,
  uncommittedFiles: null,
};

function gitOf(row: files.GitRow | undefined, live: boolean): GitAnswer {
  const { state, taken_at = null, pull_request_url = null } = row ?? {};
  return {
    ...(state ?? neverAnswered),
    pullRequestUrl: pull_request_url,
    live,
    takenAt: taken_at,
  };
}

export const revertSession: HostHandler<
  (typeof sessionActions)["revert_session"],
  SessionServices
> = onHost({
  async prepare({ sql }, { sessionId }) {
    const row = await findSession(sql, sessionId);
    refuseOver(row);
    if (!row.capabilities.includes("revert")) {
      throw new Refusal(
        "capability_missing",
        "This session cannot be reverted: its agent cannot revert, or it works in a directory that is not its own.",
      );
    }
    return hostOf(row);
  },
  ask: (context, { sessionId, messageId }, host) =>
    askHost(context, host, "revert_session", { sessionId, messageId }),
  conclude: (_context, { sessionId, messageId }) => ({ sessionId, messageId }),
});

const restoreSession: HostHandler<(typeof sessionFileActions)["restore_session"], SessionServices> =
  onHost({
    async prepare(context, { sessionId: parkedId }) {
      const { sql, caller } = context;
      const id = parseId("session", parkedId);
      const former = id && (await sql.first(files.selectFormer, sql.organizationId, id));
      if (!former) throw notFound("session");
      if (former.instance_status !== "online") {
        throw hostOffline();
      }
      const { title, agent_kind, directory, policy } = former;
      const mode = narrower(former.default_mode, former.highest_mode);
      const ownerId = ownerIdOf(caller);
      const made = await sql.first(
        store.insertSession,
        sql.organizationId,
        former.instance_id,
        title,
        agent_kind,
        directory,
        await callerReference(sql, caller),
        mode,
      );
      const sessionId = formatId("session", made!.session_id);
      notifyAfterCommit(context, { sessions: [sessionId] });
      const author = await authorFor(sql, caller);
      const host = { instanceId: formatId("instance", former.instance_id), isOnline: true };
      return {
        ...host,
        payload: { sessionId, parkedId, policy, mode, ...trustedForHost(former), author, ownerId },
      };
    },
    ask: (context, _input, { payload, ...host }) =>
      askHost(context, host, "restore_session", payload),
    conclude: (context, _input, { payload }, answer) => recordStart(context, payload, answer),
    undo: (context, _input, { payload }) => deleteRefusedStart(context, payload.sessionId),
    unknown: (context, _input, { payload }) => recordStartUnknown(context, payload.sessionId),
  });

export const sessionFileHandlers: HandlersFor<typeof sessionFileActions, SessionServices> = {
  async get_session_file_diff(context, { sessionId, path, cursor, maxBytes = largestPage }) {
    const row = await findSession(context.sql, sessionId);
    refuseOver(row);
    const from = readPatchCursor(cursor);
    const wanted = { sessionId, path, ...from };
    const page = await readFromHost(context, hostOf(row), "diff_session_file", wanted);
    const patch = firstLines(page.patch, maxBytes);
    const isWhole = patch.length === page.patch.length;
    const next = isWhole ? page.nextOffset : from.offset + Buffer.byteLength(patch);
    return { path, patch, nextCursor: next === null ? null : makePatchCursor(next, page.hash) };
  },

  get_session_git: getSessionGit,

  async list_parked_sessions(context, { instanceId }) {
    const host = await findHost(context.sql, instanceId);
    return readFromHost(context, host, "list_parked_sessions", {});
  },

  restore_session: restoreSession,
};

/** Hosts send pages of this size. */
const largestPage = 64 * 1024;

/** The beginning of a text: whole lines if one fits, and never half of a character. */
function firstLines(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const line = bytes.lastIndexOf(0x0a, maxBytes - 1);
  let end = line >= 0 ? line + 1 : maxBytes;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

const makePatchCursor = (offset: number, hash: string) =>
  Buffer.from(`${offset} ${hash}`).toString("base64url");

/** The offset in the patch at which a page begins, and the hash of that patch. */
function readPatchCursor(cursor: string | undefined): { offset: number; hash?: string } {
  if (cursor === undefined) return { offset: 0 };
  const text = Buffer.from(cursor, "base64url").toString();
  const [, offset, hash] = /^([1-9]\d{0,9}) ([0-9a-f]{32})$/.exec(text) ?? [];
  if (hash !== undefined) return { offset: Number(offset), hash };
  throw new Refusal(
    "invalid_input",
    "The cursor is not one this action gave. Start again without it.",
    { fields: [{ field: "cursor", message: "is not one this action gave" }] },
  );
}
