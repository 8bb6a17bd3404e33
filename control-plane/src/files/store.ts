// The SQL of uploaded files, and of their removal. A blob that a host has also sent is never removed.
import { statement, systemStatement } from "../postgres/statement.ts";

const untilUnused = `hawser_now() + interval '7 days'`;
const laterUnlessForEver = `CASE WHEN kept_until IS NULL THEN NULL ELSE ${untilUnused} END`;

/** Keeps bytes that are already stored for this file too. */
export const keepKnownBlob = statement<{ blob_id: string }>(
  `UPDATE blobs SET kept_until = ${laterUnlessForEver}
    WHERE organization_id = $1 AND sha256 = $2 AND stored_at IS NOT NULL
   RETURNING blob_id`,
);

/** Completes a blob whose hash was not known before its last byte. No row if it was removed. */
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

/** $2 files. Locks files before their blobs, which every transaction locks last. */
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

/** Removes a few at a time. A file that was used while this runs has a later time, and stays. */
export const deleteUnusedBlobs = systemStatement<{ blob_id: string }>(
  "remove the bytes of files that nobody has used for days",
  `DELETE FROM blobs WHERE kept_until < hawser_now() AND blob_id IN (
     SELECT blob_id FROM blobs WHERE kept_until < hawser_now() ORDER BY kept_until LIMIT 20)
   RETURNING blob_id`,
);

export const deleteUnusedFiles = systemStatement<{ file_id: string }>(
  "remove files that nobody has used for days",
  `DELETE FROM files WHERE kept_until < hawser_now() AND file_id IN (
     SELECT file_id FROM files WHERE kept_until < hawser_now() ORDER BY kept_until LIMIT 100)
   RETURNING file_id`,
);
