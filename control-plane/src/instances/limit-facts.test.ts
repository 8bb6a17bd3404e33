import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostFacts } from "@hawser/host-protocol";
import { limitFacts } from "./limit-facts.ts";

const plain: HostFacts = {
  host: { hostname: "build-1", os: "linux", arch: "x64" },
  daemonVersion: "0.3.0",
  agents: [
    {
      kind: "codex",
      installed: true,
      version: "0.166.0",
      ready: false,
      problems: [{ code: "not_logged_in", message: "Log in." }],
    },
  ],
  roots: [{ path: "/srv/work" }] as HostFacts["roots"],
  codeHostingCli: { installed: true, loggedIn: true, account: "otter" },
  warnings: [{ code: "git_outdated", message: "Update git." }],
  operations: [],
};

const megabyte = "x".repeat(1_000_000);
const sizeOf = (value: unknown) => JSON.stringify(value).length;

test("ordinary facts stay as they are", () => {
  assert.deepEqual(limitFacts(plain), plain);
});

test("an older daemon's facts have empty lists", () => {
  const { warnings: _warnings, operations: _operations, ...older } = plain;
  const { warnings, operations } = limitFacts(older);
  assert.deepEqual([warnings, operations], [[], []]);
});

test("no field of a host's facts can fill a record", () => {
  const long: HostFacts[] = [
    { ...plain, host: { hostname: megabyte, os: megabyte, arch: megabyte } },
    { ...plain, daemonVersion: megabyte },
    { ...plain, agents: Array.from({ length: 5_000 }, () => plain.agents[0]!) },
    { ...plain, agents: [{ ...plain.agents[0]!, version: megabyte }] },
    {
      ...plain,
      agents: [
        {
          ...plain.agents[0]!,
          problems: Array.from({ length: 9 }, () => ({ code: "no", message: megabyte })),
        },
      ],
    },
    { ...plain, roots: Array(9_000).fill(plain.roots[0]) },
    { ...plain, roots: [{ ...plain.roots[0]!, path: `/${megabyte}` }] },
    { ...plain, codeHostingCli: { installed: true, loggedIn: true, account: megabyte } },
    { ...plain, warnings: [{ code: megabyte, message: megabyte }] },
  ];
  for (const facts of long) assert.ok(sizeOf(limitFacts(facts)) < 50_000);
});

test("what is left out of a list is said", () => {
  const { roots, warnings } = limitFacts({ ...plain, roots: Array(9_000).fill(plain.roots[0]) });
  assert.ok(roots.length > 100 && roots.length < 9_000);
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ["git_outdated", "facts_cut"],
  );
});
