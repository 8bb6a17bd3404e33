// Which worker each session belongs to, and which Unix user each person has. Recorded before a worker receives the
// command that starts a session, so that no other worker can write the log of that session.
import { DatabaseSync } from "node:sqlite";
import { chmodSync } from "node:fs";

export interface Places {
  /** The user of the session's worker; undefined if this host has not started the session. */
  userOfSession(sessionId: string): string | undefined;
  /** The first user that is bound counts. Returns it. */
  bindSession(sessionId: string, user: string): string;
  userOfOwner(ownerId: string): string | undefined;
  /** Users that are bound to somebody, of this instance or a former one. */
  users(): string[];
  owners(): { ownerId: string; user: string }[];
  /** A user serves one person for ever: its files must not reach another one. */
  bindOwner(ownerId: string, user: string): void;
  /** The person links, or tries to link, an account of this kind. */
  noteKind(ownerId: string, kind: string): void;
  /** Every kind if it is null. Returns how many are left. */
  dropKind(ownerId: string, kind: string | null): number;
  close(): void;
}

export function openPlaces(path: string, instanceId: string): Places {
  const database = new DatabaseSync(path);
  chmodSync(path, 0o600);
  database.exec(`PRAGMA journal_mode = wal; PRAGMA synchronous = full;
    CREATE TABLE IF NOT EXISTS sessions (session_id TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS owners (
      user TEXT PRIMARY KEY, instance_id TEXT NOT NULL, owner_id TEXT NOT NULL, UNIQUE (instance_id, owner_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS kinds (
      instance_id TEXT NOT NULL, owner_id TEXT NOT NULL, kind TEXT NOT NULL,
      PRIMARY KEY (instance_id, owner_id, kind)
    ) STRICT, WITHOUT ROWID`);
  const select = database.prepare(`SELECT user FROM sessions WHERE session_id = ?`);
  const insert = database.prepare(
    `INSERT INTO sessions (session_id, user) VALUES (?, ?) ON CONFLICT DO NOTHING`,
  );
  const selectOwner = database.prepare(
    `SELECT user FROM owners WHERE instance_id = ? AND owner_id = ?`,
  );
  const selectOwners = database.prepare(`SELECT owner_id, user FROM owners WHERE instance_id = ?`);
  const selectUsers = database.prepare(`SELECT user FROM owners`);
  const insertOwner = database.prepare(
    `INSERT INTO owners (user, instance_id, owner_id) VALUES (?, ?, ?)`,
  );
  const insertKind = database.prepare(
    `INSERT INTO kinds (instance_id, owner_id, kind) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const deleteKind = database.prepare(
    `DELETE FROM kinds WHERE instance_id = ? AND owner_id = ? AND kind = coalesce(?, kind)`,
  );
  const countKinds = database.prepare(
    `SELECT count(*) AS count FROM kinds WHERE instance_id = ? AND owner_id = ?`,
  );
  const userOfSession = (sessionId: string) =>
    select.get(sessionId)?.["user"] as string | undefined;
  return {
    userOfSession,
    bindSession(sessionId, user) {
      insert.run(sessionId, user);
      return userOfSession(sessionId)!;
    },
    userOfOwner: (ownerId) => selectOwner.get(instanceId, ownerId)?.["user"] as string | undefined,
    users: () => selectUsers.all().map((row) => row["user"] as string),
    owners: () =>
      selectOwners
        .all(instanceId)
        .map((row) => ({ ownerId: row["owner_id"] as string, user: row["user"] as string })),
    bindOwner: (ownerId, user) => void insertOwner.run(user, instanceId, ownerId),
    noteKind: (ownerId, kind) => void insertKind.run(instanceId, ownerId, kind),
    dropKind(ownerId, kind) {
      deleteKind.run(instanceId, ownerId, kind);
      return Number(countKinds.get(instanceId, ownerId)!["count"]);
    },
    close: () => database.close(),
  };
}
