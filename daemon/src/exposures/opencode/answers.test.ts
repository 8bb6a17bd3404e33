// What of opencode's answers leaves the host.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanAnswer } from "./answers.ts";
import type { Answer } from "./routes.ts";

const own = new Set(["ses_own"]);
const clean = (kind: Answer, value: unknown) =>
  cleanAnswer(kind, value, {
    directories: ["/srv/one", "/srv/two"],
    reaches: ({ id, parentID }) => own.has(id) || own.has(parentID ?? ""),
  });

test("only sessions that are reached are listed, with those of their sub-agents", () => {
  const child = { id: "ses_child", parentID: "ses_own" };
  const others = [{ id: "ses_x" }, { id: "ses_y", parentID: "ses_x" }, { title: "no id" }, 7, null];
  assert.deepEqual(clean("sessions", [{ id: "ses_own" }, child, ...others]), [
    { id: "ses_own" },
    child,
  ]);
  assert.deepEqual(clean("statuses", { ses_own: { type: "busy" }, ses_x: { type: "busy" } }), {
    ses_own: { type: "busy" },
  });
  const request = { id: "per_1", sessionID: "ses_own" };
  assert.deepEqual(clean("requests", [request, { id: "per_2", sessionID: "ses_x" }, {}]), [
    request,
  ]);
});

test("an answer of another form becomes an empty one", () => {
  for (const value of ["text", 7, null, { all: 1 }]) {
    assert.deepEqual(clean("sessions", value), []);
    assert.deepEqual(clean("agents", value), []);
  }
  for (const value of ["text", 7, null, [1]]) {
    assert.deepEqual(clean("statuses", value), {});
    assert.deepEqual(clean("config", value), {});
  }
});

test("settings that may contain secrets are not in the configuration", () => {
  const value = {
    model: "stub/a",
    provider: { stub: { options: { apiKey: "secret" } } },
    mcp: { files: { environment: { TOKEN: "secret" } } },
    command: { greet: { template: "secret" } },
    plugin: ["secret"],
  };
  assert.deepEqual(clean("config", value), { model: "stub/a" });
});

test("providers keep their models, and lose their keys", () => {
  const value = {
    all: [
      {
        id: "stub",
        key: "secret",
        options: { apiKey: "secret", nested: { a: "secret" } },
        env: ["STUB_API_KEY"],
        models: {
          a: {
            id: "a",
            headers: { authorization: "secret" },
            limit: { context: 5 },
            api_key: "secret",
          },
        },
        authToken: "secret",
      },
    ],
    connected: ["stub"],
  };
  const cleaned = clean("providers", value);
  assert.ok(!JSON.stringify(cleaned).includes("secret"));
  assert.deepEqual(cleaned, {
    all: [
      {
        id: "stub",
        options: {},
        env: ["STUB_API_KEY"],
        models: { a: { id: "a", headers: {}, limit: { context: 5 } } },
      },
    ],
    connected: ["stub"],
  });
});

test("other worktrees of the project are not named", () => {
  const value = { id: "p", worktree: "/srv/one", sandboxes: ["/srv/other"], commands: { a: 1 } };
  assert.deepEqual(clean("project", value), { id: "p", worktree: "/srv/one", sandboxes: [] });
});

test("projects are listed with the worktrees that are reached", () => {
  const value = [
    { id: "global", worktree: "/", sandboxes: [] },
    { id: "a", worktree: "/srv/hidden", sandboxes: ["/srv/two", "/srv/one", "/srv/other"] },
    { id: "b", worktree: "/srv/foreign", sandboxes: ["/srv/foreign/two"] },
  ];
  assert.deepEqual(clean("projects", value), [
    { id: "a", worktree: "/srv/one", sandboxes: ["/srv/two"] },
  ]);
});
