// Every statement that may run as hawser_system, which sees all organizations. A new one is a
// decision: say here what it is for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemStatements } from "./statement.ts";

test("the statements of hawser_system are these and no others", async () => {
  // A statement is on the list once its file is loaded; these load them all.
  for (const file of ["../node.ts", "../access/bootstrap.ts", "../instances/host-identity.ts"])
    await import(file);
  assert.deepEqual([...systemStatements.keys()].sort(), [
    "add counted reads to their hour",
    "drop idempotency rows whose day has passed",
    "end the sessions in error whose machine was replaced",
    "enter a node",
    "find online instances without a connection",
    "find or make the user of an e-mail address",
    "find the hosts that speak",
    "find the instance of a host by its key",
    "find the instance that a pairing token is for",
    "find the owner of an API key by its hash",
    "forget hosts' connections, and show who has none left",
    "keep a wrapped secret",
    "keep the facts a host found",
    "keep the key of a host that was paired",
    "keep what hosts' hellos say of them",
    "list the hosts' connections",
    "lock an instance while a host is paired with it",
    "lock instances",
    "lock the instances of hosts that come in",
    "lock the instances of hosts that went",
    "lock the open sessions of an instance that is paired anew",
    "lock the sessions that hosts tell of, each the host's own",
    "make a member",
    "make an API key",
    "make an id",
    "make an organization",
    "make the log's partitions of this week and the next two",
    "move how far sessions' logs are applied",
    "note hosts' connections",
    "note how long the newest token of a host is good",
    "note that a daemon stops on purpose",
    "note that an edge is gone",
    "note the edges that hosts came in through",
    "note the journals that sessions' logs go on from",
    "note when API keys were last used",
    "note when a host was last heard",
    "note which host an instance is paired with",
    "read a wrapped secret",
    "read the revoked host keys",
    "redeem a pairing token",
    "remove uploads of blobs that were cut",
    "revoke the keys an instance had before it was paired anew",
    "say that a node is alive",
    "see that the database answers",
    "see whether the service is set up",
    "show instances as moving to another edge or server",
    "show instances offline that moved for too long",
    "show instances online",
    "show that two machines use one host's key",
    "take a node out",
    "take or renew a lease",
    "take the turn to push revocations",
    "write an audit entry",
    "write entries of sessions' logs",
  ]);
});
