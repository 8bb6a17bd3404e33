import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isBuilt, notBuilt } from "../acceptance/not-built.ts";
import { countCoverage, coverageTable, type Proof } from "./coverage.ts";

const requirements = [
  { id: "start.returns", action: "-", source: "4.5,R30" },
  { id: "start.strict", action: "-", source: "4.5" },
  { id: "list.all", action: "-", source: "4.2,8.1" },
  { id: "ids.opaque", action: "-", source: "2" },
  { id: "far", action: "-", source: "4.10" },
];

const proof = (ids: string[], rest: Partial<Proof> = {}): Proof => ({
  test: "a test",
  ids,
  requests: 1,
  passed: true,
  ...rest,
});

const provenBy = (...proofs: Proof[]) => countCoverage(requirements, proofs).proven;

describe("counting proven requirements", () => {
  test("a passed test that sent a request proves what it cites", () => {
    assert.equal(provenBy(proof(["start.returns", "list.all"])), 2);
  });

  test("citing one requirement twice counts it once", () => {
    assert.equal(provenBy(proof(["list.all"]), proof(["list.all"])), 1);
  });

  test("a test that sent no request proves nothing", () => {
    assert.equal(provenBy(proof(["list.all"], { requests: 0 })), 0);
  });

  test("a failed test takes back what another test proved, in either order", () => {
    const failed = proof(["list.all"], { passed: false });
    assert.equal(provenBy(proof(["list.all"]), failed), 0);
    assert.equal(provenBy(failed, proof(["list.all"])), 0);
    assert.equal(provenBy(proof(["list.all"]), { ...failed, requests: 0 }), 0);
  });

  test("an id that is no requirement is not counted and is named with its tests", () => {
    const coverage = countCoverage(requirements, [
      proof(["list.al"], { test: "one" }),
      proof(["list.al", "ids.opaque"], { test: "two" }),
    ]);
    assert.equal(coverage.proven, 1);
    assert.deepEqual(coverage.unknown, [{ id: "list.al", tests: ["one", "two"] }]);
  });

  test("sections follow the first source of a row, in the document's order", () => {
    const coverage = countCoverage(requirements, [proof(["start.strict", "ids.opaque"])]);
    assert.deepEqual(coverage.sections, [
      { section: "2", proven: 1, built: 1, total: 1 },
      { section: "4.2", proven: 0, built: 1, total: 1 },
      { section: "4.5", proven: 1, built: 2, total: 2 },
      { section: "4.10", proven: 0, built: 1, total: 1 },
    ]);
  });

  test("the table ends with the total", () => {
    const table = coverageTable(countCoverage(requirements, [proof(["list.all"])]));
    assert.match(table, /^4\.2 +1 +1 +1$/m);
    assert.match(table, /\n1 of 5 requirements proven; 0 more/);
    assert.match(table, /built and not proven: start\.returns, start\.strict, ids\.opaque, far/);
  });

  test("what is about an action that is not built is not proven", () => {
    const rows = [{ id: "fork.new", action: "fork_session", source: "4.5" }, ...requirements];
    const cited = [proof(["fork.new", "list.all"])];
    const { proven, built, total, missing } = countCoverage(
      rows,
      cited,
      ({ action }) => action !== "fork_session",
    );
    assert.deepEqual([proven, built, total], [1, 5, 6]);
    assert.ok(!missing.includes("fork.new"));
  });

  test("a row is built if the actions that its probe needs are", () => {
    const needed = [
      ["record.schedule.name", "-", "create_scheduled_prompt"],
      ["record.session.forkedFrom", "-", "fork_session"],
      ["general.body.empty_object", "-", "list_scheduled_prompts"],
      ["fork_session.new", "fork_session", "fork_session"],
    ] as const;
    for (const [id, action, name] of needed) {
      assert.equal(isBuilt({ id, action }), !notBuilt.includes(name), id);
    }
    assert.equal(isBuilt({ id: "general.actions.all", action: "-" }), notBuilt.length === 0);
    assert.ok(isBuilt({ id: "record.session.title", action: "-" }));
    assert.ok(isBuilt({ id: "rename_session.renames", action: "rename_session" }));
  });
});
