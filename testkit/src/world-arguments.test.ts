// What a person may type after `npm run world --`.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  WrongArgument,
  readWorldArguments,
  readWorldSettings,
  worldUsage,
} from "./world-arguments.ts";

test("without arguments there is one of each part", () => {
  const { nodes, hosts, nats, json, dev, help } = readWorldArguments([]);
  assert.deepEqual(
    { nodes, hosts, nats, json, dev, help },
    {
      nodes: 1,
      hosts: 1,
      nats: 1,
      json: false,
      dev: false,
      help: false,
    },
  );
});

test("numbers are read, and a world without hosts has no agents", () => {
  const { nodes, nats, kinds } = readWorldArguments([
    "--nodes",
    "2",
    "--nats",
    "3",
    "--hosts",
    "0",
  ]);
  assert.deepEqual({ nodes, nats, kinds }, { nodes: 2, nats: 3, kinds: [] });
});

for (const [args, sentence] of [
  [["--nodes", "0"], "--nodes must be a whole number, at least 1."],
  [["--nodes", "abc"], "--nodes must be a whole number, at least 1."],
  [["--hosts", "-1"], /argument is ambiguous/],
  [["--nats", "2"], "--nats must be 1 or 3."],
  [["--kinds", "aider"], /there is no agent "aider"\. The agents are opencode, /],
  [["--bogus"], "Unknown option '--bogus'."],
  [["--nodes"], "Option '--nodes <value>' argument missing."],
  [["extra"], /Unexpected argument 'extra'/],
] as const) {
  test(`${args.join(" ")} is refused with a sentence`, () => {
    assert.throws(
      () => readWorldArguments([...args]),
      (error) => {
        assert.ok(error instanceof WrongArgument);
        if (typeof sentence === "string") assert.equal(error.message, sentence);
        else assert.match(error.message, sentence);
        return true;
      },
    );
  });
}

test("the usage names every option", () => {
  for (const option of ["kinds", "nodes", "hosts", "nats", "json", "help"]) {
    assert.match(worldUsage, new RegExp(`--${option}\\b`));
  }
});

test("the networks that webhooks may reach are passed on to the nodes, and nothing else", () => {
  const networks = { HAWSER_WEBHOOK_NETWORKS: "127.0.0.0/8" };
  assert.deepEqual(readWorldSettings({ ...networks, HAWSER_LISTEN: "127.0.0.1:1" }), networks);
  for (const none of [undefined, ""]) {
    assert.deepEqual(readWorldSettings({ HAWSER_WEBHOOK_NETWORKS: none }), {});
  }
  assert.match(worldUsage, /HAWSER_WEBHOOK_NETWORKS/);
});
