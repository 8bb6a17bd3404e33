// Messages of Claude Code, translated into our events, without the program.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentEvent } from "../driver.ts";
import { createEventReporter } from "./events.ts";
import { explainResult } from "./failures.ts";
import type { Message, Result } from "./messages.ts";

function eventsOf(messages: object[]): AgentEvent[] {
  const events: AgentEvent[] = [];
  const reporter = createEventReporter("/tree", (event) => events.push(event));
  for (const message of messages) reporter.onMessage(message as Message);
  return events;
}

test("unknown messages are reported as received; heartbeats are ignored", () => {
  const strange = { type: "hologram", beam: 1 };
  const news = { type: "system", subtype: "eclipse", visible: false };
  const warning = {
    type: "rate_limit_event",
    rate_limit_info: { status: "allowed_warning", utilization: 0.93 },
  };
  const events = eventsOf([
    strange,
    news,
    warning,
    { type: "rate_limit_event", rate_limit_info: { status: "allowed" } },
    { type: "system", subtype: "init" },
    { type: "tool_progress" },
  ]);
  assert.deepEqual(
    events.map((event) => event.type === "update" && event.update),
    [strange, news, warning].map((raw) => ({ sessionUpdate: "unknown", raw })),
  );
});

test("the path of a patch is relative to the session's directory, also if the agent named it so", () => {
  for (const filePath of ["/tree/a/b.txt", "a/b.txt"]) {
    const [event] = eventsOf([
      {
        type: "user",
        parent_tool_use_id: null,
        message: { content: [{ type: "tool_result", tool_use_id: "t", content: "Done." }] },
        tool_use_result: { type: "create", filePath, content: "x\n", structuredPatch: [] },
      },
    ]);
    assert.ok(event?.type === "update" && event.update.sessionUpdate === "tool_call_update");
    const patch = event.update.content.find((one) => one.type === "patch");
    assert.equal(patch?.path, "a/b.txt");
  }
});

test("a failed command has the exit code that it reports, and no other tool has one", () => {
  const codes = [
    ["Bash", "Exit code 3\nnot found", 3],
    ["Bash", "Exit code 130", 130],
    ["Bash", "It said: Exit code 3", undefined],
    ["Read", "Exit code 3", undefined],
  ] as const;
  for (const [name, content, expected] of codes) {
    const call = { type: "tool_use", id: "t", name, input: {} };
    const result = { type: "tool_result", tool_use_id: "t", content, is_error: true };
    const [, end] = eventsOf([
      { type: "assistant", parent_tool_use_id: null, message: { id: "m", content: [call] } },
      { type: "user", parent_tool_use_id: null, message: { content: [result] } },
    ]);
    assert.ok(end?.type === "update" && end.update.sessionUpdate === "tool_call_update");
    assert.equal(end.update.exitCode, expected, content);
  }
});

test("a condensed history is reported", () => {
  const boundary = { type: "system", subtype: "compact_boundary", compact_metadata: {} };
  assert.deepEqual(eventsOf([boundary]), [{ type: "compacted" }]);
});

test("a patch is cut to 64 KiB in whole lines, and its counts include the lines that were cut", () => {
  const content = "x".repeat(99).concat("\n").repeat(2_000);
  const events = eventsOf([
    {
      type: "assistant",
      parent_tool_use_id: null,
      message: {
        id: "m",
        content: [{ type: "tool_use", id: "t", name: "Write", input: { content } }],
      },
    },
    {
      type: "user",
      parent_tool_use_id: null,
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: "Done." }] },
      tool_use_result: { type: "create", filePath: "/tree/a/b.txt", content, structuredPatch: [] },
    },
  ]);
  const [call, end] = events.flatMap((event) => (event.type === "update" ? [event.update] : []));
  assert.ok(call?.sessionUpdate === "tool_call");
  assert.ok(JSON.stringify(call.rawInput).length < 70_000);
  assert.ok(end?.sessionUpdate === "tool_call_update");
  const patch = end.content.find((one) => one.type === "patch");
  assert.ok(patch);
  assert.deepEqual([patch.path, patch.added, patch.removed], ["a/b.txt", 2_000, 0]);
  assert.ok(Buffer.byteLength(patch.patch) <= 64 * 1024);
  assert.match(patch.patch, /\+x{99}\n$/);
});

test("a rate limit names the time at which it ends", () => {
  const result: Result = {
    type: "result",
    subtype: "success",
    is_error: true,
    api_error_status: 429,
    result: "You've hit your session limit",
    total_cost_usd: 0,
  };
  const limit = { status: "rejected" as const, resetsAt: 1_794_700_393 };
  assert.match(
    explainResult(result, "rate_limit", limit).reason,
    /Prompt again after 2026-11-14T23:53:13Z/,
  );
});
