import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instance } from "@hawser/client";
import { saidOfAgent, saidOfHost, summaryOf } from "./status.ts";

const now = Date.parse("2026-11-19T10:00:00Z");
const lastSeenAt = "2026-11-19T09:46:00Z";
type Reason = Instance["statusReason"];

test("each status and reason of a host has its mark, word and sentence", () => {
  const table: [Instance["status"], Reason, string, string, string?][] = [
    ["online", null, "on", "Online"],
    ["online", "draining", "on", "Online", "Finishing its turns, then restarts"],
    ["online", "moving", "on", "Online", "Moving to another node"],
    ["offline", null, "off", "Offline"],
    ["offline", "link_lost", "off", "Offline", "Link lost 14 min ago"],
    ["offline", "daemon_stopped", "off", "Offline", "Stopped on the machine"],
    [
      "offline",
      "daemon_stalled",
      "err",
      "Not answering",
      "Connected, but the daemon does not reply",
    ],
    [
      "offline",
      "duplicate_host",
      "off",
      "Offline",
      "Two machines use this pairing. Pair one of them anew.",
    ],
    ["offline", "revoked", "end", "Removed"],
    ["pairing", "never_paired", "wait", "Pairing", "No machine has joined yet"],
    // A reason of a later version is shown as it is, and never as online.
    ["offline", "on_holiday" as Reason, "off", "Offline", "on_holiday"],
    ["online", "on_holiday" as Reason, "off", "Offline", "on_holiday"],
  ];
  for (const [status, statusReason, mark, word, detail] of table) {
    const said = saidOfHost({ status, statusReason, lastSeenAt }, now);
    assert.deepEqual([said.mark, said.word, said.detail], [mark, word, detail], word);
  }
});

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
  assert.deepEqual(agent(false, false, "not_installed"), { mark: "off", word: "Not installed" });
  assert.equal(agent(true, false, "not_logged_in").mark, "ask");
  assert.deepEqual(agent(true, false, "sandbox_unavailable"), {
    mark: "err",
    word: "Cannot start",
    detail: "It is sandbox_unavailable.",
  });
});

test("the summary counts only the states that there are", () => {
  const host = (status: Instance["status"], statusReason: Reason = null) => ({
    status,
    statusReason,
    lastSeenAt,
  });
  const hosts = [
    host("online"),
    host("online", "draining"),
    host("offline", "link_lost"),
    host("offline", "daemon_stalled"),
  ];
  assert.equal(summaryOf(hosts), "2 online, 1 not answering, 1 offline");
  assert.equal(summaryOf([host("pairing", "never_paired")]), "1 pairing");
});
