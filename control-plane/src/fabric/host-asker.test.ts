// What an asker makes of a host's refusal, and of a host that is gone before it answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Refusal } from "@hawser/contract";
import { hostCommands, makeSigningKey, type SignedCommand } from "@hawser/host-protocol";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { FabricTimeout, NoResponders } from "./connection.ts";
import { makeFabricKeys } from "./fabric-keys.ts";
import { createHostAsker, isTooLate } from "./host-asker.ts";
import type { Keyring } from "./keyring.ts";

async function refusalOf(code: string): Promise<Refusal> {
  const asker = createHostAsker(
    {
      request(_subject, data) {
        const { commandId } = JSON.parse(data as string) as SignedCommand;
        const reply = { commandId, outcome: { refusal: { code, message: "No." } } };
        return Promise.resolve(Buffer.from(JSON.stringify(reply)));
      },
    },
    { keys: { commandKey: makeSigningKey() } } as unknown as Keyring,
  );
  const reading = { actor: { type: "user", id: "usr_ada" }, isOnline: true };
  try {
    await asker.read("ins_a", "refresh_host_facts", {}, reading);
  } catch (error) {
    return error as Refusal;
  }
  return assert.fail("the host did not refuse");
}

test("a command that came too late may be sent again, and no other refusal says so", async () => {
  const late = await refusalOf("deadline_passed");
  assert.deepEqual(
    [late.code, late.details, isTooLate(late)],
    ["host_refused", { retry: "later" }, true],
  );
  for (const code of ["failed", "interrupted", "a_later_code"]) {
    const refusal = await refusalOf(code);
    assert.deepEqual([refusal.code, isTooLate(refusal)], ["host_refused", false], code);
  }
});

test("an unknown outcome says for how long the host may still begin", async () => {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const { keys } = makeFabricKeys();
  const keyring = { keys, refresh: () => Promise.resolve() } as unknown as Keyring;
  const { deadlineMs } = hostCommands.send_prompt;
  const askWith = (answers: (() => Error)[]) => {
    const request = () => {
      now += 3_000;
      return Promise.reject((answers.shift() ?? (() => new FabricTimeout()))());
    };
    const asker = createHostAsker({ request }, keyring, () => now);
    return asker.ask(
      "ins_a",
      "send_prompt",
      { sessionId: "ses_a", text: "hello" },
      {
        commandId: "c1",
        actor: { type: "user", id: "usr_ada" },
        resumed: false,
        signal: new AbortController().signal,
        isOnline: true,
      },
    );
  };
  const unknown = (mayBeginMs: number) => (error: unknown) => {
    assert.ok(error instanceof OutcomeUnknown, String(error));
    assert.equal(error.mayBeginMs, mayBeginMs);
    return true;
  };
  const gone = [() => new FabricTimeout(), () => new NoResponders()];
  await assert.rejects(askWith(gone), unknown(deadlineMs - 6_000));
  await assert.rejects(askWith([]), unknown(0));
  await assert.rejects(askWith([() => new NoResponders()]), { code: "host_offline" });
});
