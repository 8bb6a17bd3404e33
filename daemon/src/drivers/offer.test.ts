// Which choices of a caller are accepted, which are refused, and which field a refusal names.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NotOffered, type Abilities } from "./driver.ts";
import {
  checkAcceptsAttachments,
  checkCommand,
  checkOptions,
  checkPromptChoices,
  choose,
  chooseModel,
  type Offer,
  type Wanted,
} from "./offer.ts";

const signal = new AbortController().signal;

const offer: Offer = {
  models: {
    providers: [
      { providerId: "east", models: [{ modelId: "big", variants: ["low", "high"] }] },
      {
        providerId: "west",
        models: [
          { modelId: "big", variants: [] },
          { modelId: "small", variants: ["low"] },
        ],
      },
    ],
    defaultModel: { providerId: "east", modelId: "big" },
  },
  modes: ["build", "plan"],
  defaultMode: "build",
  options: [
    { id: "effort", name: "Effort", values: ["low", "high"], default: null },
    { id: "thinking", name: "Thinking", values: ["on", "off"], default: "on" },
  ],
  variantOption: "effort",
};

const small = { providerId: "west", modelId: "small" };

function refused(field: string, words: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof NotOffered);
    assert.equal(error.field, field);
    assert.match(error.message, words);
    return true;
  };
}

test("a driver fills in the default model and mode", () => {
  assert.deepEqual(choose(offer, { model: null, options: { effort: "high" } }), {
    model: { providerId: "east", modelId: "big" },
    mode: "build",
    options: { effort: "high" },
  });
  const named = { model: small, agent: "plan", options: { effort: "low", thinking: "off" } };
  assert.deepEqual(choose(offer, named), {
    model: small,
    mode: "plan",
    options: { effort: "low", thinking: "off" },
  });
});

const refusedByDriver: [what: string, wanted: Partial<Wanted>, field: string, words: RegExp][] = [
  ["an unknown provider", { model: { ...small, providerId: "north" } }, "model", /"north"/],
  ["a model of another provider", { model: { ...small, providerId: "east" } }, "model", /"small"/],
  ["an unknown mode", { agent: "dream" }, "agent", /"dream".*It has build, plan\./],
  ["an unknown option", { options: { depth: "1" } }, "options", /It has: effort, thinking\./],
  ["an unknown value", { options: { thinking: "maybe" } }, "options", /"maybe".*on, off\./],
  [
    "a value that only other models have",
    { model: small, options: { effort: "high" } },
    "options",
    /"high"\. It has: low\./,
  ],
  [
    "a variant of a model without variants",
    { model: { providerId: "west", modelId: "big" }, options: { effort: "low" } },
    "options",
    /none with this model/,
  ],
];

for (const [what, wanted, field, words] of refusedByDriver) {
  test(`a driver refuses ${what}`, () => {
    assert.throws(
      () => choose(offer, { model: null, options: {}, ...wanted }),
      refused(field, words),
    );
  });
}

test("a driver refuses to start without any model", () => {
  const empty = { ...offer, models: { providers: [], defaultModel: null } };
  assert.throws(() => choose(empty, { model: null, options: {} }), refused("model", /no models/));
});

const driver = {
  listModels: async () => offer.models,
  listModes: async () => offer.modes,
  readState: async () => ({
    installed: true,
    version: "1.0.0",
    authenticated: true,
    problems: [],
    capabilities: [],
    options: offer.options,
  }),
};

test("a session starts with the named model, or with the agent's default", async () => {
  const chosen = (wanted: { providerId?: string; modelId?: string }) =>
    chooseModel(driver, wanted, signal);
  assert.deepEqual(await chosen({}), offer.models.defaultModel);
  assert.deepEqual(await chosen({ modelId: "small" }), small, "only one provider has it");
  assert.deepEqual(await chosen(small), small);
});

const refusedModels: [
  what: string,
  wanted: { providerId?: string; modelId?: string },
  field: string,
  words: RegExp,
][] = [
  ["a provider without a model", { providerId: "east" }, "modelId", /not enough/],
  ["an unknown model", { modelId: "huge" }, "modelId", /"huge".*list_models/],
  ["a model that two providers have", { modelId: "big" }, "providerId", /east, west\. Name one/],
  ["an unknown provider", { providerId: "north", modelId: "big" }, "providerId", /"north"/],
  ["a model of another provider", { providerId: "east", modelId: "small" }, "modelId", /"small"/],
];

for (const [what, wanted, field, words] of refusedModels) {
  test(`a session does not start with ${what}`, async () => {
    await assert.rejects(chooseModel(driver, wanted, signal), refused(field, words));
  });
}

test("a prompt may name what the agent offers, and is refused for anything else", async () => {
  const check = (wanted: Parameters<typeof checkPromptChoices>[1]) =>
    checkPromptChoices(driver, wanted, signal);
  await check({});
  await check({ model: small, options: { effort: "high" }, agent: "plan" });
  const north = { ...small, providerId: "north" };
  await assert.rejects(check({ model: north }), refused("model", /"north"/));
  await assert.rejects(check({ options: { depth: "1" } }), refused("options.depth", /"depth"/));
  await assert.rejects(check({ options: { effort: "max" } }), refused("options.effort", /"max"/));
  await assert.rejects(check({ agent: "dream" }), refused("agent", /build, plan/));
});

test("a session starts only with options that the agent lists", () => {
  checkOptions(offer.options, {});
  checkOptions(offer.options, { effort: "low", thinking: "off" });
  const check = (options: Record<string, string>) => () => checkOptions(offer.options, options);
  assert.throws(check({ depth: "1" }), refused("options.depth", /no option "depth"/));
  assert.throws(check({ effort: "max" }), refused("options.effort", /It has: low, high\./));
});

const greet = { name: "greet", description: null, takesArguments: true };

test("a slash command must be listed by the agent", async () => {
  const check = (abilities: Abilities) => checkCommand({ abilities }, {}, "greet", "/", signal);
  await check({ commands: { list: async () => [greet] } });
  const others = { commands: { list: async () => [{ ...greet, name: "part" }] } };
  await assert.rejects(check(others), refused("command", /"greet"\. It has part\./));
  await assert.rejects(check({}), refused("command", /It has none\./));
  await checkCommand(
    { abilities: others },
    { listCommands: async () => [greet] },
    "greet",
    "/",
    signal,
  );
});

test("attachments are refused if the agent accepts none", () => {
  checkAcceptsAttachments({ kind: "codex", abilities: { attachments: true } });
  assert.throws(
    () => checkAcceptsAttachments({ kind: "codex", abilities: {} }),
    refused("attachments", /codex accepts no attachments/),
  );
});
