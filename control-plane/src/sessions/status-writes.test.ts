// Every SQL statement that changes a session's status takes the new status from the lifecycle table.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");

/**
 * What may be assigned to `sessions.status`. `reported.status` stands in session-log/effect-store.ts:
 * the rows of its parameter come from `statusAfter`.
 */
const fromTable = [
  /^\$\{statusAfterSql\([^}]+\)\}$/,
  /^CASE WHEN [^$]* THEN \$\{statusAfterSql\([^}]+\)\} ELSE status END$/,
  /^reported\.status$/,
];

/** The statements in a source text that write to `sessions`, from the table's name to the closing backtick. */
function writesIn(text: string): string[] {
  return [...text.matchAll(/\b(?:UPDATE|INSERT INTO)\s+sessions\b/g)].map(({ index }) => {
    let depth = 0;
    for (let at = index; at < text.length; at++) {
      if (text.startsWith("${", at)) depth += 1;
      else if (text[at] === "}" && depth > 0) depth -= 1;
      else if (text[at] === "`" && depth === 0) return text.slice(index, at);
    }
    return text.slice(index);
  });
}

/** The expressions that a statement assigns to the column `status`. */
function assignedStatuses(statement: string): string[] {
  const begin = /\bSET\s+/.exec(statement);
  if (!begin) return [];
  const assignments = [""];
  let depth = 0;
  for (const token of statement.slice(begin.index + begin[0].length).match(/\w+|\W/g) ?? []) {
    if (token === "(" || token === "{") depth += 1;
    if (token === ")" || token === "}") depth -= 1;
    if (depth === 0 && /^(?:FROM|WHERE|RETURNING)$/.test(token)) break;
    if (depth === 0 && token === ",") assignments.push("");
    else assignments[assignments.length - 1] += token;
  }
  return assignments.flatMap((each) => /^\s*status\s*=\s*([\s\S]*\S)/.exec(each)?.[1] ?? []);
}

function objections(text: string): string[] {
  return writesIn(text)
    .flatMap(assignedStatuses)
    .filter((assigned) => !fromTable.some((form) => form.test(assigned)));
}

test("no statement sets a session's status but from the lifecycle table", () => {
  const files = globSync("**/*.ts", { cwd: root }).filter((path) => !path.endsWith(".test.ts"));
  const found = files.flatMap((path) =>
    objections(readFileSync(join(root, path), "utf8")).map(
      (assigned) =>
        `control-plane/src/${path} sets a session's status to ${assigned}. Fix: generate it with statusAfterSql of sessions/lifecycle.ts.`,
    ),
  );
  assert.deepEqual(found, []);
});

test("the scan sees every statement that sets a status", () => {
  const files = globSync("**/*-store.ts", { cwd: root }).concat("sessions/store.ts");
  const assigned = files.flatMap((path) =>
    writesIn(readFileSync(join(root, path), "utf8")).flatMap(assignedStatuses),
  );
  assert.ok(assigned.length >= 9, assigned.join("\n"));
});

test("the scan finds literals and parameters", () => {
  const cases: [statement: string, found: string[]][] = [
    ["`UPDATE sessions SET status = 'error', activity = 'idle' WHERE a = $1`", ["'error'"]],
    ["`UPDATE sessions s\n  SET title = f(a, b), status = $3\n  FROM x`", ["$3"]],
    [
      "`UPDATE sessions SET status = CASE WHEN a THEN 'ended' ELSE status END`",
      ["CASE WHEN a THEN 'ended' ELSE status END"],
    ],
    [
      "`INSERT INTO sessions (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET status = 'active'`",
      ["'active'"],
    ],
    ['`UPDATE sessions SET status = ${statusAfterSql("started")}, a = 1`', []],
    ["`UPDATE sessions SET status_reason = 'x' WHERE status = 'error'`", []],
    ["`UPDATE requests SET status = 'pending'`", []],
  ];
  for (const [statement, found] of cases) assert.deepEqual(objections(statement), found, statement);
});
