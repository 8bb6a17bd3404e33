// The blobs of an organization: received in pieces, visible only once they are complete and their hash
// is right, and read in pieces. At most one chunk of each blob is in memory.
import { createHash } from "node:crypto";
import { Refusal, notFound } from "@hawser/contract";
import type { Database } from "../postgres/database.ts";
import type { TenantSql } from "../postgres/statement.ts";
import * as store from "./store.ts";
import { createConcurrencyLimit, type ConcurrencyLimit } from "./concurrency-limit.ts";

export interface Upload {
  organizationId: string;
  /** In hexadecimal. */
  sha256: string;
  size: number;
  /** The host that sends the blob. If its key is revoked in the meantime, the blob is not stored. */
  publicKey: string;
  /** Called when the bytes are needed; not called if the blob is already stored. */
  body: () => AsyncIterable<Uint8Array>;
}

export interface Blob {
  size: number;
  chunks: () => AsyncGenerator<Buffer, void>;
}

/** A blob whose hash is known only after its last byte. */
export interface Unnamed {
  /** The id of a blob that is invisible until its receiver completes it. */
  blobId: string;
  sha256: string;
  size: number;
  abandon: (sql: TenantSql) => Promise<void>;
}

export interface Blobs {
  /** Stores at most `most` bytes. Throws the result of `tooLarge` if there are more. */
  storeUnnamed(coming: {
    organizationId: string;
    most: number;
    body: () => AsyncIterable<Uint8Array>;
    tooLarge: () => Refusal;
  }): Promise<Unnamed>;
  /** `created` is false if the blob was already stored. */
  put(upload: Upload): Promise<{ created: boolean }>;
  read(organizationId: string, sha256: string): Promise<Blob>;
}

/** Measured (decision 0022): smaller chunks cost more statements, larger ones more memory, without a gain. */
const chunkSize = 256 * 1024;
const statementsAtOnce = 4;

export function createBlobs(database: Database): Blobs {
  const limit = createConcurrencyLimit(statementsAtOnce);
  return {
    async put(upload) {
      const { organizationId, size } = upload;
      const sql = database.tenant(organizationId);
      if (await sql.first(store.keepForever, organizationId, hashOf(upload))) {
        return { created: false };
      }
      const blobId = await begin(database, upload);
      let received = 0;
      try {
        const write = chunkWriter(sql, limit, blobId);
        const hash = createHash("sha256");
        for await (const piece of upload.body()) {
          hash.update(piece);
          received += piece.byteLength;
          await write.add(piece);
        }
        await write.end();
        if (received !== size || hash.digest("hex") !== upload.sha256) {
          throw new Refusal("invalid_input", "The body does not have the SHA-256 that names it.");
        }
        return await finish(sql, blobId, upload);
      } catch (error) {
        // Uploads that are left behind by a dead node or an unreachable database are removed later.
        await abandonBlob(sql, blobId, size - received).catch(() => {});
        throw error;
      }
    },
    async storeUnnamed({ organizationId, most, body, tooLarge }) {
      const sql = database.tenant(organizationId);
      const blobId = await begin(database, { organizationId, sha256: noName, size: most });
      let size = 0;
      try {
        const write = chunkWriter(sql, limit, blobId);
        const hash = createHash("sha256");
        for await (const piece of body()) {
          size += piece.byteLength;
          if (size > most) throw tooLarge();
          hash.update(piece);
          await write.add(piece);
        }
        await write.end();
        if (size < most) await sql.rows(store.returnQuota, organizationId, most - size);
        const abandon = (within: TenantSql) => abandonBlob(within, blobId, 0);
        return { blobId, sha256: hash.digest("hex"), size, abandon };
      } catch (error) {
        await abandonBlob(sql, blobId, Math.max(0, most - size)).catch(() => {});
        throw error;
      }
    },
    async read(organizationId, sha256) {
      const sql = database.tenant(organizationId);
      const blob = await sql.first(store.selectBlob, organizationId, hashOf({ sha256 }));
      if (!blob) throw notFound("blob");
      return { size: blob.size, chunks: () => readChunks(sql, limit, blob) };
    },
  };
}

/** Placeholder until the last byte has arrived. */
const noName = "00".repeat(32);

const hashOf = ({ sha256 }: { sha256: string }) => Buffer.from(sha256, "hex");

/** Counts the bytes before they arrive, so that concurrent uploads cannot exceed the quota together. */
function begin(
  database: Database,
  upload: Pick<Upload, "organizationId" | "sha256" | "size">,
): Promise<string> {
  const { organizationId, size } = upload;
  return database.tenantTransaction(organizationId, async (tx) => {
    if (!(await tx.first(store.useQuota, organizationId, size))) {
      const { seconds } = (await tx.first(store.secondsToMidnight))!;
      throw new Refusal(
        "quota_exceeded",
        "Your organization and its hosts have used up today's quota of bytes (UTC). Send it tomorrow, or ask the operator for a larger quota.",
        { retryAfterMs: seconds * 1000 },
      );
    }
    return (await tx.first(store.insertBlob, organizationId, hashOf(upload), size))!.blob_id;
  });
}

const uniqueViolation = "23505";

async function finish(
  sql: TenantSql,
  blobId: string,
  { organizationId, publicKey, sha256 }: Upload,
): Promise<{ created: boolean }> {
  try {
    if (await sql.first(store.finishBlob, organizationId, blobId, publicKey)) {
      return { created: true };
    }
  } catch (error) {
    if ((error as { code?: string }).code !== uniqueViolation) throw error;
    // Another upload of the same bytes was completed first.
    await abandonBlob(sql, blobId, 0);
    await sql.rows(store.keepForever, organizationId, hashOf({ sha256 }));
    return { created: false };
  }
  throw new Refusal("forbidden", "This host is no longer paired, so its blob is not stored.");
}

async function abandonBlob(sql: TenantSql, blobId: string, unused: number): Promise<void> {
  const { organizationId } = sql;
  await sql.rows(store.deleteBlob, organizationId, blobId);
  if (unused > 0) await sql.rows(store.returnQuota, organizationId, unused);
}

function chunkWriter(sql: TenantSql, limit: ConcurrencyLimit, blobId: string) {
  const chunk = Buffer.allocUnsafe(chunkSize);
  let filled = 0;
  let position = 0;
  const flush = async () => {
    const bytes = chunk.subarray(0, filled);
    await limit(() => sql.rows(store.insertChunk, sql.organizationId, blobId, position++, bytes));
    filled = 0;
  };
  return {
    async add(piece: Uint8Array) {
      for (let at = 0; at < piece.byteLength;) {
        const taken = piece.subarray(at, at + chunkSize - filled);
        chunk.set(taken, filled);
        filled += taken.byteLength;
        at += taken.byteLength;
        if (filled === chunkSize) await flush();
      }
    },
    async end() {
      if (filled > 0) await flush();
    },
  };
}

/** A part of a blob; undefined if the organization has no such blob. */
export async function readBlobRange(
  sql: TenantSql,
  sha256: string,
  from: number,
  length: number,
): Promise<{ size: number; bytes: Buffer } | undefined> {
  const blob = await sql.first(store.selectBlob, sql.organizationId, hashOf({ sha256 }));
  if (!blob) return undefined;
  const { size, blob_id } = blob;
  const end = Math.min(size, from + length);
  const first = Math.floor(from / chunkSize);
  const chunks: Buffer[] = [];
  for (let position = first; position * chunkSize < end; position++) {
    const row = await sql.first(store.selectChunk, sql.organizationId, blob_id, position);
    if (!row) throw new Error("A blob was removed while it was read.");
    chunks.push(Buffer.from(row.bytes, "base64"));
  }
  const start = first * chunkSize;
  return { size, bytes: Buffer.concat(chunks).subarray(from - start, Math.max(from, end) - start) };
}

async function* readChunks(
  sql: TenantSql,
  limit: ConcurrencyLimit,
  { blob_id, size }: store.BlobRow,
): AsyncGenerator<Buffer, void> {
  for (let position = 0; position * chunkSize < size; position++) {
    const row = await limit(() =>
      sql.first(store.selectChunk, sql.organizationId, blob_id, position),
    );
    if (!row) throw new Error("A blob was removed while it was read.");
    yield Buffer.from(row.bytes, "base64");
  }
}
