import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostOperation } from "@hawser/client";
import { defaultKindOf, moved, type Draft } from "./fallback.ts";
import { saidOfAgent, workOn, type Agent, type Login } from "./said-of-agent.ts";

test("an agent is ready only if it says so, and waits for a person only if a login is missing", () => {
  const agent = (installed: boolean, ready: boolean, code?: string) =>
    saidOfAgent({
      kind: "codex",
      installed,
      version: null,
      ready,
      problems: code === undefined ? [] : [{ code, message: `It is ${code}.` }],
    });
  assert.deepEqual(agent(true, true), { mark: "on", word: "Ready" });
  assert.deepEqual(agent(false, false), { mark: "off", word: "Not installed" });
  assert.equal(agent(true, false, "not_logged_in").mark, "ask");
  assert.deepEqual(agent(true, false, "sandbox_unavailable"), {
    mark: "err",
    word: "Cannot start",
    detail: "It is sandbox_unavailable.",
  });
});

test("of a missing agent the host's reason is shown, and no advice that a button gives", () => {
  const missing = (message: string) =>
    saidOfAgent({
      kind: "codex",
      installed: false,
      version: null,
      ready: false,
      problems: [{ code: "not_installed", message }],
    }).detail;
  const advice = "codex is not installed. Call install_agent_kind to install it.";
  assert.equal(missing(advice), undefined);
  const failed = `${advice} The last try failed: the disk is full`;
  assert.equal(missing(failed), failed);
});

test("3.2 An agent says whose login it uses, and asks the person only if theirs is missing", () => {
  const agent = (code: string | undefined, login: Login, kind: Agent["kind"] = "codex") =>
    saidOfAgent(
      {
        kind,
        installed: true,
        version: "1.0.0",
        ready: code === undefined,
        problems: code === undefined ? [] : [{ code, message: "The host says so." }],
      },
      login,
    );
  assert.deepEqual(agent(undefined, "own"), {
    mark: "on",
    word: "Ready",
    detail: "Ready. Your sessions use your account.",
  });
  assert.equal(agent(undefined, "host").detail, "Ready. Your sessions use the host's own login.");
  // opencode has the providers of the host, and nobody's account.
  assert.equal(agent(undefined, "own", "opencode").detail, undefined);
  assert.equal(agent("not_logged_in", "own").mark, "on");
  assert.deepEqual(agent("not_logged_in", "host"), {
    mark: "ask",
    word: "Not signed in",
    detail: "Cannot start for you: you are not signed in to Codex on this host.",
  });
  assert.equal(agent("not_logged_in", "unknown").detail, "The host says so.");
  // An account does not mend what else is wrong.
  assert.equal(agent("sandbox_unavailable", "own").mark, "err");
});

test("the work on an agent is the newest install of its kind", () => {
  const work = (operationId: string, subject: string, startedAt: string): HostOperation => ({
    operationId,
    type: "install_agent",
    subject,
    state: "running",
    step: "downloading",
    percent: 3,
    startedAt,
  });
  const operations = [
    work("a", "codex 2", "2026-11-19T10:01:00Z"),
    work("b", "codex 1", "2026-11-19T10:00:00Z"),
    work("c", "opencode 1", "2026-11-19T10:02:00Z"),
    { ...work("d", "codex 3", "2026-11-19T10:03:00Z"), type: "clone_repository" as const },
  ];
  assert.equal(workOn("codex", operations)?.operationId, "a");
  assert.equal(workOn("claude_code", operations), undefined);
});

test("the first of the order is the default, else the first that is ready", () => {
  const agent = (kind: Agent["kind"], ready: boolean): Agent => ({
    kind,
    installed: true,
    version: null,
    ready,
    problems: [],
  });
  const agents = [agent("codex", true), agent("claude_code", true), agent("opencode", false)];
  assert.equal(defaultKindOf({ fallbackChain: [], agents }), "claude_code");
  const codex = { kind: "codex", providerId: null, modelId: null } as const;
  assert.equal(defaultKindOf({ fallbackChain: [codex], agents }), "codex");
  assert.equal(defaultKindOf({ fallbackChain: [], agents: [] }), undefined);
});

test("an entry of the order moves by one place, and not out of the list", () => {
  const entries = (["opencode", "claude_code", "codex"] as const).map((kind, id): Draft => ({
    id,
    kind,
    providerId: null,
    modelId: null,
  }));
  const ids = (list: Draft[] | undefined) => list?.map(({ id }) => id);
  assert.deepEqual(ids(moved(entries, 0, 1)), [1, 0, 2]);
  assert.deepEqual(ids(moved(entries, 2, -1)), [0, 2, 1]);
  assert.equal(moved(entries, 0, -1), undefined);
  assert.equal(moved(entries, 2, 1), undefined);
});
