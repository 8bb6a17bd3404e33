// Files that callers upload for prompts: stored as they arrive, visible only to their organization, and
// removed when nobody has used them for seven days. Their content is never unpacked or inspected.
import { Refusal, formatId, notFound, parseId } from "@hawser/contract";
import type { Blob, Blobs, Unnamed } from "../blobs/blobs.ts";
import type { Caller } from "../dispatch/caller.ts";
import type { Database, TenantTransaction } from "../postgres/database.ts";
import type { TenantSql } from "../postgres/statement.ts";
import * as store from "./store.ts";

/** Maximum size of one file. Agents receive files whole, and models accept no larger ones. */
export const largestFile = 16 * 1024 * 1024;

export interface NewFile {
  organizationId: string;
  /** The session of the agent that uploads the file; other agents cannot read it. */
  sessionId?: string | null;
  mime: string;
  filename: string | null;
  /** The announced size; undefined if unknown. */
  size: number | undefined;
  body: () => AsyncIterable<Uint8Array>;
  /** Runs in the transaction that stores the file. */
  alongside?: (tx: TenantTransaction, stored: StoredFile) => void;
}

export interface StoredFile {
  fileId: string;
  size: number;
  sha256: string;
}

export interface Files {
  add(file: NewFile): Promise<StoredFile>;
  read(
    caller: Pick<Caller, "organizationId" | "sessionId">,
    fileId: string,
  ): Promise<Blob & { filename: string | null }>;
}

const uniqueViolation = "23505";

export function createFiles(database: Database, blobs: Blobs): Files {
  return {
    async add(file) {
      const { organizationId, size, body } = file;
      const most = size ?? largestFile;
      if (most > largestFile) throw tooLarge();
      const coming = await blobs.storeUnnamed({ organizationId, most, body, tooLarge });
      return settle(database, coming, file);
    },
    async read(caller, fileId) {
      const { organizationId } = caller;
      const id = parseId("file", fileId);
      const sql = database.tenant(caller);
      const file = id && (await sql.first(store.selectFiles, organizationId, [id]));
      if (!file) throw notFound("file");
      return { ...(await blobs.read(organizationId, file.sha256)), filename: file.filename };
    },
  };
}

/** Completes the blob under its hash, or uses the blob with the same bytes that is already stored. */
async function settle(
  database: Database,
  { blobId, sha256, size, abandon }: Unnamed,
  { organizationId, sessionId = null, mime, filename, alongside }: NewFile,
): Promise<StoredFile> {
  const hash = Buffer.from(sha256, "hex");
  for (let tries = 1; ; tries++) {
    try {
      return await database.tenantTransaction({ organizationId, sessionId }, async (tx) => {
        const known = await tx.first(store.keepKnownBlob, organizationId, hash);
        if (known) await abandon(tx);
        const own = known ?? (await tx.first(store.nameBlob, organizationId, blobId, hash, size));
        if (!own)
          throw new Refusal("invalid_input", "The body arrived too slowly and was dropped.");
        const made = await tx.first(store.insertFile, organizationId, own.blob_id, mime, filename);
        const stored = { fileId: formatId("file", made!.file_id), size, sha256 };
        alongside?.(tx, stored);
        return stored;
      });
    } catch (error) {
      // Somebody else completed the same bytes in the meantime; the next attempt finds them.
      if ((error as { code?: string }).code === uniqueViolation && tries < 5) continue;
      await abandon(database.tenant(organizationId)).catch(() => {});
      throw error;
    }
  }
}

/**
 * The files that a prompt names, by the ids that callers see. Extends the time until they are removed.
 * Throws `not_found`.
 */
export async function useFiles(
  sql: TenantSql,
  fileIds: readonly string[],
): Promise<Map<string, store.FileRow>> {
  if (fileIds.length === 0) return new Map();
  const ids = fileIds.map((fileId) => parseId("file", fileId));
  if (ids.includes(null)) throw notFound("file");
  await sql.rows(store.keepFiles, sql.organizationId, ids);
  await sql.rows(store.keepBlobsOfFiles, sql.organizationId, ids);
  const rows = await sql.rows(store.selectFiles, sql.organizationId, ids);
  const found = new Map(rows.map((row) => [formatId("file", row.file_id), row]));
  if (!fileIds.every((fileId) => found.has(fileId))) throw notFound("file");
  return found;
}

const tooLarge = () => new Refusal("payload_too_large", "The file is larger than 16 MiB.");
