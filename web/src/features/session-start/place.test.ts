import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instance } from "@hawser/client";
import { cloneOf, defaultKind, directoriesOf, presetDirectory, presetHost } from "./place.ts";

const host = (instanceId: string, status = "online") => ({ instanceId, status }) as Instance;
const directory = (path: string, isGitRepository = true) => ({
  path,
  isGitRepository,
  branch: isGitRepository ? "main" : null,
  remote: null,
});
const root = (type: "folder" | "repository", path: string, children = [directory("/x")]) => ({
  ...directory(path, type === "repository"),
  type,
  children: type === "folder" ? children : [],
  truncated: false,
});

test("3.1 /new: the host is the wanted one, that of the newest session, or the only one online", () => {
  const hosts = [host("a"), host("b"), host("c", "offline")];
  const id = (...args: Parameters<typeof presetHost>) => presetHost(...args)?.instanceId;
  assert.equal(id(hosts, [{ instanceId: "b" }], undefined), "b");
  assert.equal(id(hosts, [{ instanceId: "b" }], "a"), "a");
  assert.equal(id(hosts, [{ instanceId: "c" }], undefined), "a");
  assert.equal(id(hosts, [], "c"), "a");
  assert.equal(id([host("c", "offline")], [], undefined), undefined);
});

test("3.1 /new: the directory is that of the newest session there, or the first repository", () => {
  const plain = directory("/srv/plain", false);
  const roots = [
    root("folder", "/srv", [plain, directory("/srv/one"), directory("/two")]),
    root("repository", "/two"),
    root("folder", "/empty", []),
  ];
  const found = directoriesOf(roots);
  assert.deepEqual(
    found.map(({ path }) => path),
    ["/srv/one", "/two", "/srv/plain", "/empty"],
  );
  const last = (path: string) => [{ instanceId: "a", directory: path }];
  assert.equal(presetDirectory(found, last("/two"), "a")?.path, "/two");
  assert.equal(presetDirectory(found, last("/gone"), "a")?.path, "/srv/one");
  assert.equal(presetDirectory(found, last("/two"), "b")?.path, "/srv/one");
});

test("3.1 /new: the agent is the first of the host's fallback chain, or else the first that is ready", () => {
  const agent = (kind: "opencode" | "claude_code" | "codex", ready: boolean) => ({
    kind,
    ready,
    installed: true,
    version: "1",
    problems: [],
  });
  const agents = [agent("codex", true), agent("opencode", false), agent("claude_code", true)];
  assert.equal(defaultKind({ fallbackChain: [], agents }), "claude_code");
  const chain = [{ kind: "codex" as const, providerId: null, modelId: null }];
  assert.equal(defaultKind({ fallbackChain: chain, agents }), "codex");
});

test("a repository to clone is owner/name or an address", () => {
  assert.deepEqual(cloneOf(" acme/widget "), { repo: "acme/widget" });
  assert.deepEqual(cloneOf("https://git.example/acme/widget.git"), {
    url: "https://git.example/acme/widget.git",
  });
});
