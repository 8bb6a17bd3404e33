import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findViolations } from "./import-map.ts";
import { importsOf } from "./imports-of.ts";

/** The contract's lists of actions name the resources that dispatch must not know. */
const contractLists = ["access", "sessions"].map((name) => ({
  path: `contract/src/actions/${name}.ts`,
  text: "// actions\n",
}));

function violationsOf(path: string, line: string): string[] {
  return findViolations([...contractLists, { path, text: `// What it is.\n${line}\n` }]);
}

const forbidden: [path: string, line: string, reason: RegExp][] = [
  ["contract/src/ids.ts", 'import { randomUUID } from "node:crypto";', /imports only zod/],
  ["contract/src/ids.ts", 'import pino from "pino";', /imports only zod/],
  [
    "contract/src/ids.ts",
    'import type { Log } from "@hawser/control-plane/log.ts";',
    /imports only zod/,
  ],
  [
    "contract/src/ids.ts",
    'export { log } from "../../control-plane/src/log.ts";',
    /imports only zod/,
  ],
  [
    "control-plane/src/log.ts",
    'import { startWorld } from "@hawser/testkit/world.ts";',
    /no test support/,
  ],
  ["control-plane/src/sessions/store.ts", 'import pg from "pg";', /SQL driver/],
  ["control-plane/src/sessions/store.ts", 'import Cursor from "pg-cursor";', /SQL driver/],
  ["control-plane/src/main.ts", 'const pg = await import("pg");', /SQL driver/],
  [
    "control-plane/src/audit/page.ts",
    'import { x } from "../access/handlers.ts";',
    /only main\.ts/,
  ],
  [
    "control-plane/src/sessions/ending.ts",
    'import { withdraw } from "../requests/store.ts";',
    /sessions stands below requests .* import each other one way/,
  ],
  [
    "control-plane/src/access/store.ts",
    'import type { SessionRow } from "../sessions/store.ts";',
    /access stands below sessions/,
  ],
  [
    "control-plane/src/hosts/store.ts",
    'import { handlers } from "../product.ts";',
    /hosts stands below product\.ts/,
  ],
  [
    "control-plane/src/unheard-of/store.ts",
    'import { statement } from "../postgres/statement.ts";',
    /unheard-of has no place in the order/,
  ],
  [
    "control-plane/src/dispatch/dispatcher.ts",
    'import { x } from "../access/store.ts";',
    /no resource/,
  ],
  [
    "control-plane/src/transports/rest.ts",
    'import { x } from "../sessions/view.ts";',
    /no resource/,
  ],
  [
    "control-plane/src/transports/rest.ts",
    'import { registry } from "@hawser/contract";',
    /"registry"/,
  ],
  [
    "control-plane/src/transports/mcp.ts",
    'import {\n  Refusal,\n  sessionActions as actions,\n} from "@hawser/contract";',
    /"sessionActions"/,
  ],
  ["control-plane/src/dispatch/a.ts", 'import * as contract from "@hawser/contract";', /"\*"/],
  [
    "acceptance/scenarios/a.test.ts",
    'import { x } from "@hawser/control-plane/log.ts";',
    /outside/,
  ],
  ["bench/src/main.ts", 'import { Hono } from "hono";', /bare engine/],
  ["bench/src/main.ts", 'import { x } from "../../testkit/src/world.ts";', /by its package name/],
  ["mobile/src/main.ts", 'import { z } from "zod";', /not in the import map/],
  ["web/src/main.tsx", 'import { join } from "node:path";', /runs in browsers/],
  ["web/src/main.tsx", 'import { x } from "@hawser/testkit/world.ts";', /runs in browsers/],
  ["web/size.ts", 'import { x } from "@hawser/control-plane/log.ts";', /runs in browsers/],
];

const allowed: [path: string, line: string][] = [
  ["contract/src/ids.ts", 'import { z } from "zod";'],
  ["contract/src/ids.ts", 'import type { Action } from "./action.ts";'],
  ["contract/src/ids.test.ts", 'import { test } from "node:test";'],
  ["control-plane/src/postgres/database.ts", 'import pg from "pg";'],
  ["control-plane/src/main.ts", 'import { accessHandlers } from "./access/handlers.ts";'],
  ["control-plane/src/access/handlers.test.ts", 'import { handlers } from "./handlers.ts";'],
  [
    "control-plane/src/requests/listing.ts",
    'import { sessionExists } from "../sessions/store.ts";',
  ],
  ["control-plane/src/sessions/a.test.ts", 'import { x } from "../requests/store.ts";'],
  ["control-plane/src/sessions/a.ts", 'import { lastId } from "../cursor.ts";'],
  ["control-plane/src/access/store.test.ts", 'import { x } from "@hawser/testkit/postgres.ts";'],
  ["control-plane/src/dispatch/dispatcher.ts", 'import { insertEntry } from "../audit/store.ts";'],
  ["control-plane/src/dispatch/a.ts", 'import { Refusal, type Actions } from "@hawser/contract";'],
  ["web/src/calls/call.ts", 'import type { Actions } from "@hawser/client";'],
  ["web/size.ts", 'import { gzipSync } from "node:zlib";'],
  ["web/tests/event-server.ts", 'import { createServer } from "node:http";'],
  ["testkit/src/world.ts", 'import { main } from "@hawser/control-plane/main.ts";'],
  ["acceptance/scenarios/a.test.ts", 'import { startWorld } from "@hawser/testkit/world.ts";'],
  ["bench/src/main.ts", 'import pg from "pg";'],
  ["scripts/acceptance.ts", 'import { requirements } from "../acceptance/requirements.ts";'],
];

describe("the import map", () => {
  for (const [path, line, reason] of forbidden) {
    test(`refuses in ${path}: ${line.replace(/\s+/g, " ")}`, () => {
      const violations = violationsOf(path, line);
      assert.equal(violations.length, 1, violations.join("\n"));
      assert.match(violations[0]!, reason);
      assert.match(violations[0]!, new RegExp(`^${path}:2 imports .*: .*\\. Fix: .*\\.$`));
    });
  }

  for (const [path, line] of allowed) {
    test(`takes in ${path}: ${line}`, () => assert.deepEqual(violationsOf(path, line), []));
  }

  test("refuses a source file that does not begin with a comment, unless it is a test", () => {
    const violations = (path: string, text: string) => findViolations([{ path, text }]);
    assert.match(
      violations("testkit/src/a.ts", "export {};\n")[0]!,
      /^testkit\/src\/a\.ts:1 has no/,
    );
    assert.deepEqual(violations("testkit/src/a.test.ts", "export {};\n"), []);
    assert.deepEqual(violations("testkit/src/a.ts", "#!/usr/bin/env node\n"), []);
    assert.deepEqual(violations("testkit/src/a.ts", "/** A thing. */\nexport {};\n"), []);
  });
});

describe("circles of files", () => {
  const file = (path: string, ...imported: string[]) => ({
    path,
    text: `// What it is.\n${imported.map((each) => `import type { X } from "${each}";\n`).join("")}`,
  });

  test("are reported once, with every file on them", () => {
    const violations = findViolations([
      file("testkit/src/a.ts", "./b.ts"),
      file("testkit/src/b.ts", "./deep/c.ts"),
      file("testkit/src/deep/c.ts", "@hawser/testkit/a.ts"),
      file("testkit/src/d.ts", "./a.ts"),
    ]);
    assert.equal(violations.length, 1, violations.join("\n"));
    assert.match(
      violations[0]!,
      /^testkit\/src\/a\.ts:1 .*: testkit\/src\/a\.ts -> testkit\/src\/b\.ts -> testkit\/src\/deep\/c\.ts -> testkit\/src\/a\.ts\. .* Fix: /,
    );
  });

  test("are not two ways to the same file", () => {
    const violations = findViolations([
      file("testkit/src/a.ts", "./b.ts", "./c.ts"),
      file("testkit/src/b.ts", "./d.ts"),
      file("testkit/src/c.ts", "./d.ts"),
      file("testkit/src/d.ts"),
    ]);
    assert.deepEqual(violations, []);
  });
});

describe("finding imports", () => {
  const cases: [text: string, specifiers: string[], names?: string[]][] = [
    ['import "./a.ts";', ["./a.ts"], []],
    ['import a, { b as c, type D } from "x";', ["x"], ["b", "D", "default"]],
    ['import type { A } from "x";', ["x"], ["A"]],
    ['import type A from "x";', ["x"], ["default"]],
    ['import * as a from "x";', ["x"], ["*"]],
    ['export * from "x";', ["x"], ["*"]],
    ['type A = import("x").A;', ["x"], ["*"]],
    ['export const sql = `select 1 from "table"`;', []],
    ['// import { a } from "x";', []],
    ['// such as import("x")', []],
    ['import {\n  a,\n} from "x";\nimport b from "y";', ["x", "y"]],
  ];
  for (const [text, specifiers, names] of cases) {
    test(`in ${JSON.stringify(text)}`, () => {
      const found = importsOf(text);
      assert.deepEqual(
        found.map(({ specifier }) => specifier),
        specifiers,
      );
      if (names) assert.deepEqual(found[0]?.names, names);
    });
  }
});
