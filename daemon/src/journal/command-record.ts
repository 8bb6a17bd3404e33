// Records which commands began and how they ended, so that each takes effect once, even if the daemon is
// killed in between or the control plane sends a command again.
import type { DatabaseSync } from "node:sqlite";
import type { CommandOutcome } from "@hawser/host-protocol";
import { transact } from "./database.ts";

export type Begun =
  /** Seen for the first time, and now on disk: run it. */
  | { state: "new" }
  /** Ended before, with this outcome. */
  | { state: "done"; outcome: CommandOutcome }
  /** Began before, and no outcome is recorded: it is running, or a crash interrupted it. */
  | { state: "unfinished" };

export interface CommandRecord {
  begin(commandId: string, command: string): Begun;
  finish(commandId: string, outcome: CommandOutcome): void;
  /** Drops commands that ended before this time, in milliseconds. */
  dropFinished(before: number): void;
}

export function createCommandRecord(database: DatabaseSync, now: () => number): CommandRecord {
  const insert = database.prepare(
    `INSERT INTO commands (id, command, begun_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const select = database.prepare(`SELECT outcome FROM commands WHERE id = ?`);
  const update = database.prepare(
    `UPDATE commands SET outcome = ?, finished_at = ? WHERE id = ? AND outcome IS NULL`,
  );
  const drop = database.prepare(`DELETE FROM commands WHERE finished_at < ?`);

  const read = (commandId: string): Begun => {
    const row = select.get(commandId) as { outcome: string | null } | undefined;
    if (!row) return { state: "new" };
    if (row.outcome === null) return { state: "unfinished" };
    return { state: "done", outcome: JSON.parse(row.outcome) as CommandOutcome };
  };
  return {
    begin: (commandId, command) =>
      transact(database, () =>
        insert.run(commandId, command, now()).changes === 1 ? { state: "new" } : read(commandId),
      ),
    finish(commandId, outcome) {
      transact(database, () => update.run(JSON.stringify(outcome), now(), commandId));
    },
    dropFinished: (before) => transact(database, () => void drop.run(before)),
  };
}
