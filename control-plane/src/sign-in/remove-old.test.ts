import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { removeOldSignIns } from "./remove-old.ts";

test("one run removes everything that is over, however much it is, and nothing else", async () => {
  await using service = await openServiceDatabase();
  await createTestOrganization(service.database, "Acme", "ada@acme.example");
  const counts = () =>
    ownerSql(
      service.url,
      `SELECT (SELECT count(*)::int FROM sign_in.spent_challenges) AS challenges,
              (SELECT count(*)::int FROM sign_in.sign_ins) AS sign_ins,
              (SELECT count(*)::int FROM sign_in.device_logins) AS device_logins,
              (SELECT count(*)::int FROM sign_in.links) AS links,
              (SELECT count(*)::int FROM sign_in.device_sign_ins) AS device_sign_ins,
              (SELECT count(*)::int FROM invitations) AS invitations`,
    );
  await ownerSql(
    service.url,
    `CREATE TEMP TABLE made AS
       SELECT n, sha256(n::text::bytea) AS hash, now() + CASE WHEN n > 2500 THEN interval '1 minute' ELSE interval '-40 days' END AS ends
         FROM generate_series(1, 2503) AS n;
     INSERT INTO sign_in.accounts (user_id) SELECT user_id FROM users;
     INSERT INTO sign_in.spent_challenges (challenge_hash, expires_at) SELECT hash, ends FROM made;
     INSERT INTO sign_in.sign_ins (token_hash, user_id, way, device, expires_at)
       SELECT hash, user_id, 'password', 'browser', ends FROM made, users;
     INSERT INTO sign_in.device_logins (secret_hash, code_hash, name, expires_at) SELECT hash, hash, 'laptop', ends FROM made;
     INSERT INTO sign_in.links (secret_hash, organization_id, user_id, expires_at) SELECT hash, hawser_new_id(), hawser_new_id(), ends FROM made;
     INSERT INTO sign_in.device_sign_ins (sign_in_id, link_hash, expires_at)
       SELECT sign_in_id, token_hash, expires_at FROM sign_in.sign_ins;
     INSERT INTO invitations (organization_id, secret_hash, email, role, created_by, creator_key_id, expires_at)
       SELECT organization_id, hash, 'x@acme.example', 'member', '{}', hawser_new_id(), ends FROM made, organizations`,
  );
  const { database } = service;
  await removeOldSignIns(
    { accounts: database.connectionsFor("accounts").system, system: database.system },
    new AbortController().signal,
  );
  assert.deepEqual(await counts(), [
    { challenges: 3, sign_ins: 3, device_logins: 3, links: 3, device_sign_ins: 3, invitations: 3 },
  ]);
});
