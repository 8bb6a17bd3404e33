// Blobs as an organization has them: taken in piece by piece, visible only once they are whole and
// their hash is right, and given out piece by piece. At most one chunk of each is in memory.
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
  /** The host that sends it; when its key is revoked meanwhile, the blob is not kept. */
  publicKey: string;
  /** Called when the bytes are wanted, which they are not when the blob is there already. */
  body: () => AsyncIterable<Uint8Array>;
}

export interface Blob {
  size: number;
  chunks: () => AsyncGenerator<Buffer, void>;
}

/** Bytes whose name is known only at their end. */
export interface Unnamed {
  /** Of a blob that nobody sees, until whoever took it makes it whole. */
  blobId: string;
  sha256: string;
  size: number;
  abandon: (sql: TenantSql) => Promise<void>;
}

export interface Blobs {
  /** At most this many bytes; with one more it throws what `tooLarge` gives. */
  takeUnnamed(coming: {
    organizationId: string;
    most: number;
    body: () => AsyncIterable<Uint8Array>;
    tooLarge: () => Refusal;
  }): Promise<Unnamed>;
  /** Whether it was taken in; else it was there already. */
  put(upload: Upload): Promise<{ created: boolean }>;
  read(organizationId: string, sha256: string): Promise<Blob>;
}

/** Measured (decision 0022): smaller ones cost more statements, larger ones more memory, for nothing. */
const chunkSize = 256 * 1024;
const statementsAtOnce = 4;

export function createBlobs(database: Database): Blobs {
  const limit = createConcurrencyLimit(statementsAtOnce);
  return {
    async put(upload) {
      const { organizationId, size } = upload;
      const sql = database.tenant(organizationId);
      if (await sql.first(store.keepForEver, organizationId, hashOf(upload))) {
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
        // What a dead node, or a database that does not answer, leaves behind is removed later.
        await abandonBlob(sql, blobId, size - received).catch(() => {});
        throw error;
      }
    },
    async takeUnnamed({ organizationId, most, body, tooLarge }) {
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
        if (size < most) await sql.rows(store.giveQuotaBack, organizationId, most - size);
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

/** Until the last byte has come. */
const noName = "00".repeat(32);

const hashOf = ({ sha256 }: { sha256: string }) => Buffer.from(sha256, "hex");

/** Bytes count before they come, so that uploads at the same time cannot exceed the quota together. */
function begin(
  database: Database,
  upload: Pick<Upload, "organizationId" | "sha256" | "size">,
): Promise<string> {
  const { organizationId, size } = upload;
  return database.tenantTransaction(organizationId, async (tx) => {
    if (!(await tx.first(store.takeQuota, organizationId, size))) {
      const { seconds } = (await tx.first(store.secondsToMidnight))!;
      throw new Refusal(
        "quota_exceeded",
        "Your organization and its hosts have sent as many bytes as they may today (UTC). Send it tomorrow, or ask the operator for more.",
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
    // Another upload of the same bytes was whole first.
    await abandonBlob(sql, blobId, 0);
    await sql.rows(store.keepForEver, organizationId, hashOf({ sha256 }));
    return { created: false };
  }
  throw new Refusal("forbidden", "This host is not paired any more, so its blob is not kept.");
}

async function abandonBlob(sql: TenantSql, blobId: string, unused: number): Promise<void> {
  const { organizationId } = sql;
  await sql.rows(store.deleteBlob, organizationId, blobId);
  if (unused > 0) await sql.rows(store.giveQuotaBack, organizationId, unused);
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
