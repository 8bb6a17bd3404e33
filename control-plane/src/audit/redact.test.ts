import assert from "node:assert/strict";
import { test } from "node:test";
import { registry } from "@hawser/contract";
import { recordIds, redactorFor } from "./redact.ts";

test("fields that must never be logged are left out", () => {
  assert.deepEqual(redactorFor(registry.run_shell)({ sessionId: "ses_1", command: "cat secret" }), {
    sessionId: "ses_1",
  });
  assert.deepEqual(redactorFor(registry.submit_agent_login)({ loginId: "log_1", code: "abc" }), {
    loginId: "log_1",
  });
});

test("a long text is replaced by its length, wherever it is", () => {
  const text = "🙂".repeat(201);
  const kept = redactorFor(registry.send_prompt)({
    sessionId: "ses_1",
    text,
    attachments: [{ mime: "text/plain", url: `data:,${"x".repeat(300)}` }],
  });
  assert.deepEqual(kept, {
    sessionId: "ses_1",
    text: { characters: 201 },
    attachments: [{ mime: "text/plain", url: { characters: 306 } }],
  });
});

test("the ids of what a call made are found, and its secrets are not", () => {
  assert.deepEqual(
    recordIds({
      instance: { instanceId: "ins_1", name: "box" },
      pairingToken: "hwp_x",
      installCommand: "curl",
    }),
    { instanceId: "ins_1" },
  );
  assert.deepEqual(recordIds({ userId: "usr_1", removed: true }), { userId: "usr_1" });
  assert.deepEqual(recordIds(null), {});
});
