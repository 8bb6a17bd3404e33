// Full updates of shortened log entries, each in a file named by its hash, until they are uploaded. The
// table lists the entries that wait for each blob; a file without such an entry is removed.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { readdirSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { LogEntry } from "@hawser/host-protocol";
import { withoutWhole, type Whole } from "./cut-entry.ts";
import { JournalFull, transact } from "./database.ts";

export interface KeptBlobs {
  /** The blob is on disk when this returns. */
  keep(whole: Whole): void;
  has(sha256: string): boolean;
  /** Records that the entry waits for this blob. Call it in the transaction that writes the entry. */
  await(sessionId: string, seq: number, whole: { sha256: string; size: number }): void;
  /** Whether no entry waits for a blob. */
  isIdle(): boolean;
  /** The blobs that entries wait for, smallest first, with their files. */
  pending(): { sha256: string; size: number; path: string }[];
  /** The control plane has the blob: the entries that wait for it may be sent. */
  stored(sha256: string): void;
  /** The control plane refused the blob: its entries are sent with the reason instead of its name. */
  omit(sha256: string, reason: string): void;
}

export function createKeptBlobs(database: DatabaseSync, directory: string): KeptBlobs {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fileOf = (sha256: string) => join(directory, sha256);
  const insert = database.prepare(
    `INSERT INTO pending_blobs (session_id, seq, sha256, bytes) VALUES (?, ?, ?, ?)`,
  );
  const remove = database.prepare(`DELETE FROM pending_blobs WHERE sha256 = ?`);
  const select = database.prepare(
    `SELECT sha256, max(bytes) AS size FROM pending_blobs GROUP BY sha256 ORDER BY size`,
  );
  const any = database.prepare(`SELECT 1 FROM pending_blobs LIMIT 1`);
  const waiting = database.prepare(
    `SELECT position, entry, pending_blobs.bytes AS size FROM entries
     JOIN pending_blobs USING (session_id, seq) WHERE sha256 = ?`,
  );
  const rewrite = database.prepare(`UPDATE entries SET entry = ? WHERE position = ?`);
  const pending = () => select.all() as unknown as { sha256: string; size: number }[];

  const wanted = new Set(pending().map(({ sha256 }) => sha256));
  for (const name of readdirSync(directory)) {
    if (!wanted.has(name)) rmSync(join(directory, name));
  }

  return {
    keep({ sha256, bytes }) {
      const part = `${fileOf(sha256)}.part`;
      try {
        flushed(part, "w", (file) => {
          for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
        });
      } catch (error) {
        rmSync(part, { force: true });
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        const message = "The disk is full, so the journal can record nothing. Free some space.";
        throw new JournalFull(message, { cause: error });
      }
      renameSync(part, fileOf(sha256));
      flushed(directory, "r", () => {});
    },
    has: (sha256) => existsSync(fileOf(sha256)),
    await: (sessionId, seq, { sha256, size }) => void insert.run(sessionId, seq, sha256, size),
    isIdle: () => any.get() === undefined,
    pending: () => pending().map(({ sha256, size }) => ({ sha256, size, path: fileOf(sha256) })),
    stored(sha256) {
      transact(database, () => remove.run(sha256));
      rmSync(fileOf(sha256), { force: true });
    },
    omit(sha256, reason) {
      transact(database, () => {
        for (const { position, entry, size } of waiting.all(sha256)) {
          const parsed = JSON.parse(entry as string) as LogEntry;
          const update = withoutWhole(parsed.update, size as number, reason);
          rewrite.run(JSON.stringify({ ...parsed, update }), position as number);
        }
        remove.run(sha256);
      });
      rmSync(fileOf(sha256), { force: true });
    },
  };
}

/** Runs the work with a file or directory, which is flushed to disk when this returns. */
function flushed(path: string, flags: "r" | "w", work: (file: number) => void): void {
  const file = openSync(path, flags, 0o600);
  try {
    work(file);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
