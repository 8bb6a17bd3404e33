// T31 for what exists so far: secrets that are shown once are readable nowhere afterwards, neither in
// a dump of the database nor in the logs.
import assert from "node:assert/strict";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ environment: { HAWSER_LOG_LEVEL: "debug" } });

/** The ways a planted text could still be read in a dump. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString("hex"),
    bytes.toString("base64").replace(/=+$/, ""),
    encodeURIComponent(secret),
  ];
}

scenario(
  "No one-time secret, idempotency key or API key is readable in the database or the logs",
  ["create_instance.token.once", "record.instance.no_tokens"],
  async ({ world, caller }) => {
    const canary = "canary-idempotency-key";
    const keyed = (n: number) => ({ idempotencyKey: `${canary}-${n}` });
    const made = await caller.create_instance({ name: "box" }, keyed(1));
    const { instanceId } = made.instance;
    const renewed = await caller.regenerate_pairing_token({ instanceId }, keyed(2));
    const key = await caller.create_api_key(
      { name: "ci", scope: "organization", permissions: ["instances:view"] },
      keyed(3),
    );
    const rotated = await caller.rotate_api_key({ apiKeyId: key.apiKey.apiKeyId }, keyed(4));
    const trigger = await caller.create_trigger(
      { prompt: "go", instanceIds: [instanceId], source: "github", directory: "/srv" },
      keyed(5),
    );
    // The retry still gets the secret: it is kept, but only the caller's own key opens it.
    const again = await caller.create_instance({ name: "box" }, keyed(1));
    assert.equal(again.pairingToken, made.pairingToken);

    const listed = [
      await caller.list_instances({}),
      await caller.get_instance({ instanceId }),
      await caller.list_api_keys({}),
      await caller.list_triggers({}),
    ];
    const places = [
      await dumpDatabase(world.database.url),
      JSON.stringify(world.nodes[0]!.log),
      JSON.stringify(listed),
    ];
    assert.match(
      places[0]!,
      /INSERT INTO public\.idempotency/,
      "the dump holds the rows that could leak",
    );
    for (const secret of [
      made.pairingToken,
      renewed.pairingToken,
      key.key,
      rotated.key,
      trigger.secret,
      trigger.secret.slice("whsec_".length),
      canary,
      caller.key,
    ]) {
      for (const spelling of spellings(secret)) {
        assert.ok(
          !places.some((place) => place.includes(spelling)),
          `${secret.slice(0, 12)}… is readable`,
        );
      }
    }
  },
);

scenario("The search would find a secret that was there", [], async ({ world, caller }) => {
  const name = "planted-canary-name";
  await caller.create_instance({ name });
  assert.ok((await dumpDatabase(world.database.url)).includes(name));
});
