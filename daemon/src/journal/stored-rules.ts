// The rules that sessions store when somebody answers a request with `always`. They are deleted with their session.
import type { DatabaseSync } from "node:sqlite";
import { transact } from "./database.ts";

export interface StoredRule {
  rule: string;
  /** The user who answered; null if no person did, or if a daemon stored it that did not record this. */
  by: string | null;
  /** In milliseconds; null as `by`. */
  at: number | null;
  /** How many calls it has allowed. */
  uses: number;
}

export interface StoredRules {
  /** No-op for a rule that the session has. */
  remember(
    sessionId: string,
    rules: readonly string[],
    origin: Pick<StoredRule, "by" | "at">,
  ): void;
  /** Whether the session has all of the rules; false if there are none. */
  isRemembered(sessionId: string, rules: readonly string[]): boolean;
  countUse(sessionId: string, rules: readonly string[]): void;
  /** The newest first. */
  storedRules(sessionId: string, most: number): StoredRule[];
  /** Returns whether the session had the rule. */
  forget(sessionId: string, rule: string): boolean;
}

export function createStoredRules(database: DatabaseSync): StoredRules {
  const prepare = (sql: string) => database.prepare(sql);
  const insert = prepare(
    `INSERT INTO remembered_rules (session_id, rule, by_user, remembered_at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  const selectOne = prepare(`SELECT 1 FROM remembered_rules WHERE session_id = ? AND rule = ?`);
  const countUse = prepare(
    `UPDATE remembered_rules SET uses = uses + 1 WHERE session_id = ? AND rule = ?`,
  );
  const select = prepare(
    `SELECT rule, by_user, remembered_at, uses FROM remembered_rules WHERE session_id = ?
      ORDER BY remembered_at DESC NULLS LAST, rule LIMIT ?`,
  );
  const remove = prepare(`DELETE FROM remembered_rules WHERE session_id = ? AND rule = ?`);
  const write = <Result>(work: () => Result) => transact(database, work);
  return {
    remember(sessionId, rules, { by, at }) {
      write(() => {
        for (const rule of rules) insert.run(sessionId, rule, by, at);
      });
    },
    isRemembered: (sessionId, rules) =>
      rules.length > 0 && rules.every((rule) => selectOne.get(sessionId, rule) !== undefined),
    countUse(sessionId, rules) {
      write(() => {
        for (const rule of rules) countUse.run(sessionId, rule);
      });
    },
    storedRules: (sessionId, most) =>
      select.all(sessionId, most).map((row) => ({
        rule: row["rule"] as string,
        by: row["by_user"] as string | null,
        at: row["remembered_at"] as number | null,
        uses: row["uses"] as number,
      })),
    forget: (sessionId, rule) => write(() => remove.run(sessionId, rule).changes > 0),
  };
}
