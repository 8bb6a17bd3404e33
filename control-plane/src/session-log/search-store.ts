// The SQL of searching a session's log for a text.
import { statement } from "../postgres/statement.ts";
import { byPeriod } from "./follow-store.ts";

/** Characters before and after a found text. */
const around = 120;

/** Fields that are not searched, except in the input of a tool. Otherwise a search for "text" would match the content type of every message. */
const notText = "Id$|^(sessionUpdate|type|status|kind)$";

/**
 * How much of a log one call reads, in bytes of JSON; the last entry may exceed it. PostgreSQL reads about 20 MB
 * in a second, and half as much if the values of every entry have to be extracted.
 */
const mostBytes = 8 * 1024 * 1024;

/** A found entry, or, if there is none, one row that only says how far the log was read. */
export interface FoundRow {
  /** The last entry that was looked at; null if there is none. */
  read_until: number | null;
  seq: number | null;
  at: string;
  turn_id: string | null;
  type: string;
  text: string;
  is_cut_before: boolean;
  is_cut_after: boolean;
}

/** Both sides of a comparison are lowered by PostgreSQL: JavaScript lowers some letters differently. Computed once. */
const wanted = "(SELECT lower($5::text))";
const wantedAsJson = `(SELECT lower(substr(json, 2, length(json) - 2)) FROM (SELECT to_json($5::text)::text AS json) escaped)`;

/**
 * $3 after this seq, $4 up to this one, $5 text, $6 limit. The entries that contain the text in one of their
 * values, in any case. Extracting values is slow, so entries whose JSON does not contain the text are skipped
 * first. Entries are read one by one, so that those behind the limit of bytes are not decompressed.
 */
const selectFoundWithin = (bounds: string) => {
  const entry = `FROM session_log WHERE organization_id = $1 AND session_id = $2 ${bounds}`;
  const next = (position: string) => `
             SELECT seq, octet_length(json) AS bytes, strpos(lower(json), ${wantedAsJson}) > 0 AS may_match
               FROM (SELECT seq, update::text AS json ${entry} AND seq > ${position} AND seq <= $4
                      ORDER BY seq LIMIT 1) entry`;
  return statement<FoundRow>(
    `WITH RECURSIVE looked (seq, bytes, may_match) AS (
     SELECT seq, bytes, may_match FROM (${next("$3")}) first
     UNION ALL
     SELECT following.seq, looked.bytes + following.bytes, following.may_match
       FROM looked CROSS JOIN LATERAL (${next("looked.seq")}) following
      WHERE looked.bytes < ${mostBytes})
   SELECT read.until AS read_until, found.*
     FROM (SELECT max(seq) AS until FROM looked) read
     LEFT JOIN LATERAL (
          SELECT seq, at, turn_id, type,
                 substr(text, greatest(place - ${around}, 1), length(${wanted}) + ${2 * around}) AS text,
                 place > ${around} + 1 AS is_cut_before,
                 greatest(place - ${around}, 1) + length(${wanted}) + ${2 * around} <= length(text) AS is_cut_after
            FROM (SELECT candidate.seq, at, turn_id, update->>'sessionUpdate' AS type, text,
                         strpos(lower(text), ${wanted}) AS place
                    FROM (SELECT seq FROM looked WHERE may_match ORDER BY seq) candidate
                   CROSS JOIN LATERAL (SELECT at, turn_id, update ${entry} AND seq = candidate.seq LIMIT 1) stored
                   CROSS JOIN LATERAL (
                         SELECT string_agg(part #>> '{}', chr(10)) AS text
                           FROM (SELECT jsonb_path_query(update - 'rawInput', 'strict $.** ? (@.type() == "object").keyvalue()
                                          ? (@.value.type() == "string" && !(@.key like_regex "${notText}")).value') AS part
                                  UNION ALL
                                 SELECT jsonb_path_query(update - 'rawInput', 'strict $.** ? (@.type() == "array")[*]
                                          ? (@.type() == "string")')
                                  UNION ALL
                                 SELECT jsonb_path_query(update->'rawInput', 'strict $.** ? (@.type() == "string")')
                                ) parts) texts) entries
           WHERE place > 0
           ORDER BY seq
           LIMIT $6) found ON true
    ORDER BY found.seq`,
  );
};

/** Finds entries that contain a text. */
export const selectFoundOf = byPeriod(selectFoundWithin);
