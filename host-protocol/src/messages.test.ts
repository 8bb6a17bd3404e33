// Messages as each released version wrote them, frozen. Today's schemas must read them all: a
// control plane meets daemons of three minor versions, and a daemon an older or newer control plane.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import type { z } from "zod";
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
import { protocolVersion, understands } from "./versions.ts";

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

test("there is a sample of every message", () => {
  const kinds = new Set(readdirSync(new URL("0.1.0/", folder)).map((file) => file.split(".")[0]!));
  assert.deepEqual(
    [...kinds].filter((kind) => kind !== "command-key").sort(),
    Object.keys(schemas).sort(),
  );
});

test("only versions we know how to read are understood", () => {
  assert.ok(understands(protocolVersion));
  assert.ok(!understands(protocolVersion + 1));
});
