// A PostgreSQL primary and its synchronous standby behind one address, as an operator runs them for high
// availability. The standby can take over, by plan or after the primary was killed.
//
// A commit is confirmed only when both have it, except from a take-over until `takeOver` resolves.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startCuttingProxy } from "./cutting-proxy.ts";
import { freePort } from "./free-port.ts";
import { ownerSql } from "./owner-sql.ts";
import {
  initCluster,
  makeDirectory,
  runTool,
  startServer,
  type PostgresCluster,
  type PostgresServer,
} from "./postgres.ts";
import { familyOf, signal } from "./postgres-restart.ts";
import { removeDirectory } from "./remove-directory.ts";
import { until } from "./until.ts";

/** `url` and `port` are those of the address, `pid` is that of the present primary. */
export interface PostgresPair extends PostgresCluster {
  /**
   * Makes the standby the primary. Resolves when the old primary is its synchronous standby. Calls `isMoved`
   * when the address leads to the new primary.
   */
  takeOver(plan: TakeOver, isMoved?: () => void): Promise<void>;
}

export interface TakeOver {
  /** `stop` ends the primary in order; `kill` is kill -9. */
  primary: "stop" | "kill";
  /** For how long the primary refuses writes before it ends. */
  readOnlyMs?: number;
  /** For how long the address leads to the old primary, which is a standby by then. */
  staleMs?: number;
}

interface Member {
  directory: string;
  server: PostgresServer;
}

const settings = { fsync: "on", wal_level: "replica", max_wal_senders: "10" };
const patienceMs = 30_000;

export async function startPostgresPair(): Promise<PostgresPair> {
  await using startup = new AsyncDisposableStack();
  const directories: string[] = [];
  startup.defer(() => directories.forEach(removeDirectory));
  const own = () => {
    const directory = makeDirectory();
    directories.push(directory);
    return directory;
  };
  const members: Member[] = [];
  startup.defer(async () => void (await Promise.all(members.map(({ server }) => server.stop()))));

  const first = own();
  await initCluster(first);
  members.push({ directory: first, server: await startServer(first, await freePort(), settings) });
  members.push(await copyOf(members[0]!.server, own()));
  await confirmByBoth(members[0]!.server);
  const target = { port: members[0]!.server.port };
  const proxy = startup.use(await startCuttingProxy(target));
  const owned = startup.move();

  async function takeOver(
    { primary: how, readOnlyMs = 0, staleMs = 0 }: TakeOver,
    isMoved = () => {},
  ): Promise<void> {
    const [former, next] = members as [Member, Member];
    if (readOnlyMs > 0) {
      await setting(former.server, "default_transaction_read_only", "on");
      await sleep(readOnlyMs);
    }
    if (how === "stop") await former.server.stop();
    else for (const pid of familyOf(former.server.pid)) signal(pid, "SIGKILL");
    // Without this the new primary would wait for a standby that it does not have yet.
    await setting(next.server, "synchronous_standby_names", "");
    await ownerSql(next.server.url, "SELECT pg_promote(true, 30)");
    const move = () => {
      target.port = next.server.port;
      isMoved();
    };
    if (staleMs === 0) move();
    members.reverse();
    if (how === "stop") {
      members[1] = await followAgain(former, next.server);
      if (readOnlyMs > 0) await setting(former.server, "default_transaction_read_only", "off");
    } else {
      await former.server.stop();
      removeDirectory(former.directory);
      members[1] = await copyOf(next.server, own());
    }
    if (staleMs > 0) {
      await sleep(staleMs);
      move();
    }
    await confirmByBoth(next.server);
  }

  return {
    url: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
    port: proxy.port,
    get pid() {
      return members[0]!.server.pid;
    },
    takeOver,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Copies the files of a running primary, and starts a standby on them. */
async function copyOf({ port }: PostgresServer, directory: string): Promise<Member> {
  await runTool("pg_basebackup", [
    "--host=127.0.0.1",
    `--port=${port}`,
    "--username=postgres",
    `--pgdata=${directory}`,
    // Writes what makes it a standby of that primary.
    "--write-recovery-conf",
    "--checkpoint=fast",
    "--no-sync",
  ]);
  return { directory, server: await startServer(directory, await freePort(), settings) };
}

/** Starts the old primary, which ended in order, as a standby of the new one. */
async function followAgain(
  { directory, server }: Member,
  { port }: PostgresServer,
): Promise<Member> {
  writeFileSync(join(directory, "standby.signal"), "");
  const primary_conninfo = `user=postgres host=127.0.0.1 port=${port}`;
  const following = { ...settings, primary_conninfo };
  return { directory, server: await startServer(directory, server.port, following) };
}

async function setting({ url }: PostgresServer, name: string, value: string): Promise<void> {
  await ownerSql(url, `ALTER SYSTEM SET ${name} = '${value}'`);
  await ownerSql(url, "SELECT pg_reload_conf()");
}

/** From now on a commit waits for the standby. Resolves when the standby is up to date. */
async function confirmByBoth(primary: PostgresServer): Promise<void> {
  await setting(primary, "synchronous_standby_names", "*");
  const isInSync = async () =>
    (await ownerSql(primary.url, "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"))
      .length === 1;
  await until("the standby confirms commits", isInSync, patienceMs);
}
