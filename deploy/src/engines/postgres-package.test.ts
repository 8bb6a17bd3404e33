// The package of PostgreSQL from any directory, without the libraries of the machine's own PostgreSQL. Built
// by build-postgres.sh, which takes minutes, so the test is skipped where it has not run.
import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeCleanUser } from "@hawser/testkit/clean-user.ts";
import { packagedProduct } from "@hawser/testkit/packaged-product.ts";

test("PostgreSQL's package makes a cluster, and dumps and restores it compressed", async (t) => {
  const product = await packagedProduct();
  const engine = product.engines.find(({ name }) => name === "postgres");
  if (!engine) return t.skip("PostgreSQL was not built here: see deploy/README.md.");
  await using user = await makeCleanUser();
  cpSync(product.tarballOf(engine), join(user.home, "postgres.tgz"));
  const must = async (line: string) => {
    const { code, output } = await user.run(`export PATH=$HOME/package/bin:$PATH; ${line}`);
    assert.equal(code, 0, `${line}: ${output}`);
    return output;
  };
  await must("tar -xzf postgres.tgz");
  await must(
    "initdb -D data -U postgres -A trust -E UTF8 --no-sync --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8",
  );
  await must(
    `pg_ctl -D data -w -l log -o "-c listen_addresses= -c unix_socket_directories=$HOME" start`,
  );
  try {
    const connect = "-h $HOME -U postgres";
    await must(`psql ${connect} -c "CREATE TABLE t AS SELECT lower('ÄÖ') AS name"`);
    await must(`pg_dump ${connect} -Fc -Z6 -f dump postgres`);
    await must(`psql ${connect} -c "CREATE DATABASE copy"`);
    await must(`pg_restore ${connect} -d copy --exit-on-error dump`);
    assert.equal(await must(`psql ${connect} -At -d copy -c "SELECT name FROM t"`), "äö\n");
    assert.match(await must(`pg_dumpall ${connect} --roles-only`), /CREATE ROLE postgres/);
  } finally {
    await must("pg_ctl -D data -m fast -w stop");
  }
  const needed = readFileSync(join(user.home, "package/NEEDED"), "utf8").trim().split("\n");
  assert.deepEqual(needed.slice(0, -1), ["libc.so.6", "libm.so.6", "libpq.so.5"]);
  assert.match(needed.at(-1)!, /^GLIBC_2\.\d+$/);
});
