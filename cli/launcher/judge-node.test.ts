import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeNode } from "./judge-node.ts";

test("hawser goes on in Node 24.12 to 25, and prefers the tested Node to a newer one", () => {
  const table: [version: string, judged: ReturnType<typeof judgeNode>][] = [
    ["16.20.2", "too old"],
    ["18.17.1", "too old"],
    ["18.18.0", "needs another"],
    ["20.20.2", "needs another"],
    ["22.23.0", "needs another"],
    ["24.11.1", "needs another"],
    ["24.12.0", "fits"],
    ["24.21.0", "fits"],
    ["25.3.0", "fits"],
    ["26.0.0", "prefers another"],
  ];
  for (const [version, judged] of table) assert.equal(judgeNode(version), judged, version);
});
