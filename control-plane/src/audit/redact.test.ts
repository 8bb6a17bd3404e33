import assert from "node:assert/strict";
import { test } from "node:test";
import { formatId, registry } from "@hawser/contract";
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

test("N36: of an address only the origin is kept, however long it is", () => {
  const kept = (url: string) => redactorFor(registry.update_webhook)({ webhookId: "whk_1", url });
  for (const path of ["/hook?token=x", `/${"x".repeat(1_000)}`, "/a#b"]) {
    assert.deepEqual(kept(`https://user:pass@hooks.example:8443${path}`), {
      webhookId: "whk_1",
      url: "https://hooks.example:8443",
    });
  }
  assert.deepEqual(kept("no address"), { webhookId: "whk_1", url: "no address" });
});

const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
const instanceId = formatId("instance", uuid);
const userId = formatId("user", uuid);

test("the ids of what a call made are found, and its secrets are not", () => {
  assert.deepEqual(
    recordIds({
      instance: { instanceId, name: "box" },
      pairingToken: "hwp_x",
      installCommand: "curl",
    }),
    { instanceId },
  );
  assert.deepEqual(recordIds({ userId, removed: true }), { userId });
  assert.deepEqual(recordIds(null), {});
});

test("only ids of this service are kept, and no more than 20", () => {
  const others = {
    modelId: "m".repeat(5_000_000),
    providerId: "anthropic",
    projectId: `${userId}x`,
    runId: null,
    exposureId: ["exp_1"],
  };
  assert.deepEqual(recordIds({ ...others, model: others, userId }), { userId });
  const many = Array.from({ length: 1000 }, (_, at) => [`a${at}Id`, userId]);
  assert.equal(Object.keys(recordIds(Object.fromEntries(many))).length, 20);
  assert.deepEqual(recordIds({ [`${"a".repeat(5000)}Id`]: userId }), {});
});
