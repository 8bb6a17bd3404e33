// Every statement that may run as hawser_system, which sees all organizations. A new one is a
// decision: say here what it is for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemStatements } from "./statement.ts";

test("the statements of hawser_system are these and no others", async () => {
  // A statement is on the list once its file is loaded; these load them all.
  for (const file of ["../node.ts", "../access/bootstrap.ts", "../instances/pairing.ts"])
    await import(file);
  assert.deepEqual([...systemStatements.keys()].sort(), [
    "add counted reads to their hour",
    "drop idempotency rows whose day has passed",
    "enter a node",
    "find or make the user of an e-mail address",
    "find the owner of an API key by its hash",
    "find whose pairing token was refused, for the audit trail",
    "keep a wrapped secret",
    "make a member",
    "make an API key",
    "make an id",
    "make an organization",
    "note when API keys were last used",
    "read a wrapped secret",
    "redeem a pairing token",
    "say that a node is alive",
    "see that the database answers",
    "see whether the service is set up",
    "take a node out",
    "write an audit entry",
  ]);
});
