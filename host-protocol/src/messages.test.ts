// Messages as each released version wrote them, frozen. Today's schemas must read them all, and must also
// read them with the additions of a later version: nodes and daemons meet older and newer ones.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { received } from "@hawser/contract";
import { asNewer, laterField } from "@hawser/testkit/other-versions.ts";
import { z } from "zod";
import { CommandBody, CommandReply, SignedCommand, hostCommands, isGenuine } from "./commands.ts";
import { NonceReply, PairReply, PairRequest, RenewRequest } from "./doors.ts";
import {
  Bye,
  Heartbeat,
  HeartbeatReply,
  Hello,
  HelloReply,
  RenewReply,
  Report,
  ReportReply,
} from "./reports.ts";

const folder = new URL("../messages/", import.meta.url);

/** The schema of a sample, by the part of its name before the dot. */
const schemas: Record<string, z.ZodType> = {
  "signed-command": SignedCommand,
  "command-reply": CommandReply,
  hello: Hello,
  "hello-reply": HelloReply,
  report: Report,
  "report-reply": ReportReply,
  heartbeat: Heartbeat,
  "heartbeat-reply": HeartbeatReply,
  "renew-reply": RenewReply,
  bye: Bye,
  "pair-request": PairRequest,
  "pair-reply": PairReply,
  "nonce-reply": NonceReply,
  "renew-request": RenewRequest,
};

const read = (version: string, file: string): unknown =>
  JSON.parse(readFileSync(new URL(`${version}/${file}`, folder), "utf8"));

for (const version of readdirSync(folder)) {
  for (const file of readdirSync(new URL(`${version}/`, folder))) {
    const kind = file.split(".")[0]!;
    if (kind === "command-key") continue;
    test(`${file} of version ${version} is read as it was written`, () => {
      const sample = read(version, file);
      assert.deepEqual(schemas[kind]!.parse(sample), sample);
    });
    test(`${file} of version ${version} is read with the fields of a later version`, () => {
      const sample = read(version, file);
      const schema = schemas[kind]!;
      assert.equal(schema.safeParse(asNewer(sample)).success, false, "senders are strict");
      const got = received(schema).parse(asNewer(sample)) as object;
      assert.ok(!(laterField in got));
      assert.deepEqual(withoutLater(got), sample);
    });
  }

  test(`a command of version ${version} is genuine for its host, and for no other host, text or key`, () => {
    const command = SignedCommand.parse(read(version, "signed-command.json"));
    const { publicKey } = read(version, "command-key.json") as { publicKey: string };
    assert.ok(isGenuine(publicKey, command.instanceId, command));
    assert.ok(!isGenuine(publicKey, "ins_other", command));
    assert.ok(!isGenuine(publicKey, "ins_other", { ...command, instanceId: "ins_other" }));
    assert.ok(!isGenuine(publicKey, command.instanceId, { ...command, body: `${command.body} ` }));
    assert.ok(
      !isGenuine(publicKey, command.instanceId, {
        ...command,
        issuedAt: "2026-11-15T10:00:00.001Z",
      }),
    );
    const body = CommandBody.parse(JSON.parse(command.body));
    assert.ok(Object.hasOwn(hostCommands, body.command));
  });
}

/** Log entries and results are passed on as they are, so they contain the field. */
function withoutLater(value: object): unknown {
  const drop = (name: string, part: unknown) => (name === laterField ? undefined : part);
  return JSON.parse(JSON.stringify(value, drop));
}

test("no part of a received command or result is strict, except a policy", () => {
  for (const [name, { payload, result }] of Object.entries(hostCommands)) {
    for (const schema of [payload, result]) {
      const loose = received(schema as z.ZodType, { unknownWords: "refuse" });
      const strict = strictParts(z.toJSONSchema(loose, { io: "input" }));
      const expected = "policy" in payload.shape && schema === payload ? ["policy"] : [];
      assert.deepEqual(strict, expected, name);
    }
  }
});

/** Names of the fields, or list elements, that refuse unknown fields. */
function strictParts(schema: unknown, name = ""): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own = (schema as Record<string, unknown>)["additionalProperties"] === false ? [name] : [];
  return [...own, ...Object.entries(schema).flatMap(([key, part]) => strictParts(part, key))];
}

test("an id that a host makes is short, or its message is refused", () => {
  const entry = {
    seq: 1,
    at: "2026-11-15T10:00:00.000Z",
    turnId: "t1",
    update: { sessionUpdate: "x" },
  };
  const sessions = (entries: object[]) => [{ sessionId: "ses_a", entries }];
  const report = { journalId: "j1", sessions: sessions([entry]) };
  const hello = read("0.1.0", "hello.json") as object;
  const accepts = (schema: z.ZodType, message: object) =>
    received(schema).safeParse(message).success;
  assert.ok(accepts(Report, report) && accepts(Hello, hello));
  const long = "x".repeat(201);
  assert.ok(!accepts(Report, { ...report, journalId: long }));
  assert.ok(!accepts(Report, { ...report, sessions: sessions([{ ...entry, turnId: long }]) }));
  for (const name of ["machineId", "journalId", "bootId"]) {
    assert.ok(!accepts(Hello, { ...hello, [name]: long }), name);
  }
  assert.ok(!accepts(Heartbeat, { bootId: long }));
  assert.ok(!accepts(Bye, { bootId: long }));
});

test("a hello names its connection by the public key of a server, and by nothing that is more of a subject", () => {
  const hello = read("0.1.0", "hello.json") as object;
  const serverId = `N${"A".repeat(55)}`;
  const accepts = (connection: object) =>
    received(Hello).safeParse({ ...hello, connection }).success;
  assert.ok(accepts({ serverId, clientId: 7 }));
  for (const wrong of ["PING", "*", `${serverId}.X`, ` ${serverId}`, serverId.toLowerCase(), ""]) {
    assert.ok(!accepts({ serverId: wrong, clientId: 7 }), wrong);
  }
  for (const clientId of [-1, 1.5, "7"]) assert.ok(!accepts({ serverId, clientId }));
});

test("there is a sample of every message", () => {
  const kinds = new Set(readdirSync(new URL("0.1.0/", folder)).map((file) => file.split(".")[0]!));
  assert.deepEqual(
    [...kinds].filter((kind) => kind !== "command-key").sort(),
    Object.keys(schemas).sort(),
  );
});
