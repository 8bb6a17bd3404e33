import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { countCoverage, coverageTable, wrongReasons, type Proof } from "./coverage.ts";

const requirements = [
  { id: "start.returns", source: "4.5,R30" },
  { id: "start.strict", source: "4.5" },
  { id: "list.all", source: "4.2,8.1" },
  { id: "ids.opaque", source: "2" },
  { id: "far", source: "4.10" },
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
      { section: "2", proven: 1, total: 1 },
      { section: "4.2", proven: 0, total: 1 },
      { section: "4.5", proven: 1, total: 2 },
      { section: "4.10", proven: 0, total: 1 },
    ]);
  });

  test("the table has what is not proven with its reason, and ends with the total", () => {
    const coverage = countCoverage(requirements, [proof(["list.all"])]);
    const table = coverageTable(coverage, { far: "it is far" });
    assert.match(table, /^4\.2 +1 +1$/m);
    assert.match(table, /\n1 of 5 requirements proven$/);
    assert.match(table, /^not proven: far: it is far$/m);
    assert.match(table, /^not proven: ids\.opaque: no reason is known$/m);
  });

  test("a whole run complains of a missing reason, and of one for what is proven", () => {
    const cited = ["start.returns", "start.strict", "list.all"];
    const coverage = countCoverage(requirements, [proof(cited)]);
    assert.deepEqual(wrongReasons(coverage, { far: "x", "ids.opaque": "y" }), []);
    const wrong = wrongReasons(coverage, { far: "x", "list.all": "z" });
    assert.match(wrong.join("\n"), /^ids\.opaque is not proven.*\nlist\.all is proven/);
  });
});
