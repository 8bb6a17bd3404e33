import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instance } from "@hawser/client";
import { restOf, saidOfHost, summaryOf } from "./status.ts";

const now = Date.parse("2026-11-19T10:00:00Z");
const lastSeenAt = "2026-11-19T09:46:00Z";
type Reason = Instance["statusReason"];

test("3.2 Host label: each status and reason of a host has its mark, word and sentence", () => {
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

test("5 What needs a host rests while it is not online, and says why", () => {
  const host = (status: Instance["status"]) => restOf({ name: "gpu-lab-1", status });
  assert.equal(host("online"), undefined);
  assert.match(host("offline")!, /gpu-lab-1 is not online/);
  assert.match(host("pairing")!, /No machine has joined/);
});
