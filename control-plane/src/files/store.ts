// The SQL of uploaded files, and of when they go. A blob that hosts have sent too is never made to go.
import { statement, systemStatement } from "../postgres/statement.ts";

const untilUnused = `hawser_now() + interval '7 days'`;
const laterUnlessForEver = `CASE WHEN kept_until IS NULL THEN NULL ELSE ${untilUnused} END`;

/** Bytes that are there already stay for this file too. */
export const keepKnownBlob = statement<{ blob_id: string }>(
  `UPDATE blobs SET kept_until = ${laterUnlessForEver}
    WHERE organization_id = $1 AND sha256 = $2 AND stored_at IS NOT NULL
   RETURNING blob_id`,
);

/** Makes a blob whole whose name was not known before its last byte. No row: it was removed. */
export const nameBlob = statement<{ blob_id: string }>(
  `UPDATE blobs SET sha256 = $3, size = $4, stored_at = hawser_now(), kept_until = ${untilUnused}
    WHERE organization_id = $1 AND blob_id = $2 AND stored_at IS NULL
   RETURNING blob_id`,
);

export const insertFile = statement<{ file_id: string }>(
  `INSERT INTO files (organization_id, blob_id, mime, filename, kept_until)
   VALUES ($1, $2, $3, $4, ${untilUnused}) RETURNING file_id`,
);

export interface FileRow {
  file_id: string;
  sha256: string;
  size: number;
  mime: string;
  filename: string | null;
}

/** $2 files. */
export const selectFiles = statement<FileRow>(
  `SELECT f.file_id, encode(b.sha256, 'hex') AS sha256, b.size, f.mime, f.filename
     FROM files f JOIN blobs b ON b.organization_id = f.organization_id AND b.blob_id = f.blob_id
    WHERE f.organization_id = $1 AND f.file_id = ANY ($2::uuid[]) AND f.kept_until > hawser_now()`,
);

/** $2 files. Before their blobs, which everyone locks last. */
export const keepFiles = statement(
  `UPDATE files SET kept_until = ${untilUnused}
    WHERE organization_id = $1 AND file_id = ANY ($2::uuid[])`,
);

export const keepBlobsOfFiles = statement(
  `UPDATE blobs SET kept_until = ${laterUnlessForEver}
    WHERE organization_id = $1
      AND blob_id IN (SELECT blob_id FROM files
                       WHERE organization_id = $1 AND file_id = ANY ($2::uuid[]))`,
);

/** A few at a time. What was used while this ran has a later time, and stays. */
export const deleteUnusedBlobs = systemStatement(
  "remove the bytes of files that nobody has used for days",
  `DELETE FROM blobs WHERE kept_until < hawser_now() AND blob_id IN (
     SELECT blob_id FROM blobs WHERE kept_until < hawser_now() ORDER BY kept_until LIMIT 20)`,
);

export const deleteUnusedFiles = systemStatement(
  "remove files that nobody has used for days",
  `DELETE FROM files WHERE kept_until < hawser_now() AND file_id IN (
     SELECT file_id FROM files WHERE kept_until < hawser_now() ORDER BY kept_until LIMIT 100)`,
);
