// The messages that users sent to a session's agent, in order, each with the snapshot of the session's
// worktree before it. They are deleted with their session.
import type { DatabaseSync } from "node:sqlite";
import type { Snapshot } from "../worktrees/snapshots.ts";
import { transact } from "./database.ts";

export interface KeptMessage {
  messageId: string;
  /** Null until the snapshot is made, if that failed, and if the worktree is not the session's own. */
  snapshot: Snapshot | null;
}

export interface KeptMessages {
  add(sessionId: string, messageId: string): void;
  setSnapshot(messageId: string, snapshot: Snapshot): void;
  list(sessionId: string): KeptMessage[];
  /** Drops this message and all later ones. */
  dropFrom(sessionId: string, messageId: string): void;
}

export function createKeptMessages(database: DatabaseSync): KeptMessages {
  const insert = database.prepare(
    `INSERT INTO driven_messages (session_id, message_id) VALUES (?, ?)`,
  );
  const update = database.prepare(`UPDATE driven_messages SET snapshot = ? WHERE message_id = ?`);
  const select = database.prepare(
    `SELECT message_id, snapshot FROM driven_messages WHERE session_id = ? ORDER BY position`,
  );
  const drop = database.prepare(
    `DELETE FROM driven_messages
      WHERE session_id = ?1 AND position >=
        (SELECT position FROM driven_messages WHERE session_id = ?1 AND message_id = ?2)`,
  );
  const write = (work: () => unknown) => void transact(database, work);
  return {
    add: (sessionId, messageId) => write(() => insert.run(sessionId, messageId)),
    setSnapshot: (messageId, snapshot) =>
      write(() => update.run(JSON.stringify(snapshot), messageId)),
    list: (sessionId) =>
      select.all(sessionId).map((row) => ({
        messageId: row["message_id"] as string,
        snapshot: JSON.parse((row["snapshot"] as string | null) ?? "null") as Snapshot | null,
      })),
    dropFrom: (sessionId, messageId) => write(() => drop.run(sessionId, messageId)),
  };
}
