// The data directory of a service as `hawser up` leaves it, made by an unprivileged user: a cluster with
// Hawser's schema, an organization, a session with a log, the keys, and the journal of a host. For tests of
// commands that work on such a directory.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openJournal } from "@hawser/daemon/journal/journal.ts";
import { bundle } from "@hawser/deploy/bundle.ts";
import { isRoot, makeCleanUser, type CleanUser, type Ran } from "./clean-user.ts";
import { ownerSql } from "./owner-sql.ts";

export interface ServiceData extends AsyncDisposable {
  user: CleanUser;
  /** The data directory. */
  data: string;
  instanceId: string;
  sessionId: string;
  /** Runs `hawser` as the user. */
  hawser: (line: string, environment?: Record<string, string>) => Promise<Ran>;
  /** The shell line of `hawser`, for tests that start it themselves. */
  command: string;
  /** Starts the cluster as `hawser up` does. */
  start: (data?: string, bin?: string) => Promise<void>;
  stop: (data?: string, bin?: string) => Promise<void>;
  /** Address of a database of the started cluster. */
  url: (data?: string, login?: string, database?: string) => string;
  /** Everything in the database of the started cluster, as text. */
  contents: (data?: string, bin?: string) => Promise<string>;
  /** Puts a module beside the programs, for parts that no command runs alone. Returns its path. */
  placeModule: (entry: string) => Promise<string>;
  /** Gives files that the test wrote to the user. */
  handOver: (path: string) => void;
}

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** The newest PostgreSQL of the machine. */
function installedPostgres(): string {
  const base = "/usr/lib/postgresql";
  const [newest] = readdirSync(base)
    .map(Number)
    .filter((major) => major >= 15)
    .toSorted((a, b) => b - a);
  return join(base, String(newest), "bin");
}

export async function makeServiceData(entries = 200): Promise<ServiceData> {
  await using parts = new AsyncDisposableStack();
  const user = parts.use(await makeCleanUser());
  // Beside the home: programs that the user can run and not change.
  const programs = join(user.home, "../package");
  const server = join(programs, "lib/server");
  await Promise.all([
    bundle("@hawser/cli/main.ts", join(server, "hawser.mjs")),
    bundle("@hawser/control-plane/main.ts", join(server, "control-plane.mjs")),
  ]);
  cpSync(join(repository, "control-plane/migrations"), join(programs, "migrations"), {
    recursive: true,
  });
  const node = join(programs, "node");
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  const data = join(user.home, "data");
  const bin = installedPostgres();
  const command = `${node} ${join(server, "hawser.mjs")}`;

  const handOver = (path: string) => {
    if (isRoot) must("chown", "-R", `${user.name}:`, path);
  };
  const url = (place = data, login = "postgres", database = "hawser") =>
    `postgres://${login}@${encodeURIComponent(join(place, "run"))}/${database}`;
  const run = async (line: string) => {
    const { code, output } = await user.run(line);
    if (code !== 0) throw new Error(`${line} failed: ${output}`);
    return output;
  };
  const start = async (place = data, programsOf = bin) => {
    await run(`mkdir -p -m 700 ${place}/run`);
    const settings = `-c listen_addresses= -c unix_socket_directories=${place}/run -c fsync=off`;
    await run(
      `${programsOf}/pg_ctl start -w -t 60 -s -D ${place}/postgres -l ${user.home}/postgres.log -o "${settings}"`,
    );
  };
  const stop = async (place = data, programsOf = bin) => {
    if (!existsSync(join(place, "postgres/postmaster.pid"))) return;
    await run(`${programsOf}/pg_ctl stop -s -w -t 60 -m fast -D ${place}/postgres`);
  };
  parts.defer(() => stop());

  await run(
    `mkdir -m 700 ${data} && ${bin}/initdb -D ${data}/postgres -U postgres -A trust -E UTF8 -N --locale=C.UTF-8`,
  );
  await start();
  await setUp(node, join(server, "control-plane.mjs"), data, url);
  const { instanceId, sessionId } = await fill(url(), entries);
  writeHost(join(data, "host"), instanceId);
  writeFileSync(
    join(data, "settings.json"),
    `${JSON.stringify({ url: "http://127.0.0.1:1", instanceId, setUpFor: "x" })}\n`,
    { mode: 0o600 },
  );
  handOver(data);
  await stop();
  const owned = parts.move();
  return {
    user,
    data,
    instanceId,
    sessionId,
    hawser: (line, environment) => user.run(`${command} ${line}`, environment),
    command,
    start,
    stop,
    url,
    contents: (place = data, programsOf = bin) =>
      run(
        `${programsOf}/pg_dump --data-only --inserts -h ${place}/run -U postgres hawser | grep -v '^.\\(un\\)\\?restrict'`,
      ),
    async placeModule(entry) {
      const path = join(server, basename(entry).replace(/\.ts$/, ".mjs"));
      await bundle(entry, path);
      return path;
    },
    handOver,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** As `hawser up` does it, with the commands of the control plane. */
async function setUp(
  node: string,
  controlPlane: string,
  data: string,
  url: ServiceData["url"],
): Promise<void> {
  writeFileSync(join(data, "master-key"), `${"5".repeat(64)}\n`, { mode: 0o600 });
  const env = {
    PATH: process.env["PATH"],
    HAWSER_MASTER_KEY_FILE: join(data, "master-key"),
    HAWSER_DATABASE_URL: url(data, "hawser_owner"),
  };
  const commands = [
    ["init-database", "--admin-url", url(data, "postgres", "postgres")],
    ["migrate"],
    ["init-fabric", "--directory", join(data, "fabric")],
    [
      "bootstrap",
      "--organization",
      "Acme",
      "--email",
      "owner@acme.example",
      "--key-file",
      join(data, "bootstrap-key"),
    ],
  ];
  for (const words of commands) {
    const { status, stderr } = spawnSync(node, [controlPlane, ...words, "--json"], {
      env,
      encoding: "utf8",
      timeout: 60_000,
    });
    if (status !== 0) throw new Error(`${words[0]} failed: ${stderr}`);
  }
}

/** An instance, a session with a log, an exposure, a sign-in, an invitation, and schedules: one is due, one is not. */
async function fill(
  url: string,
  entries: number,
): Promise<{ instanceId: string; sessionId: string }> {
  const [made] = await ownerSql<{ instance_id: string; session_id: string }>(
    url,
    `WITH i AS (
       INSERT INTO instances (organization_id, name) SELECT organization_id, 'Größe' FROM organizations
       RETURNING organization_id, instance_id
     ), s AS (
       INSERT INTO sessions (organization_id, instance_id, title, agent_kind, directory, started_by)
       SELECT organization_id, instance_id, 'a session', 'codex', '/srv/code', '{"type": "organization_key", "id": "key_x", "name": "testkit"}' FROM i
       RETURNING organization_id, instance_id, session_id
     ), e AS (
       INSERT INTO exposures (organization_id, instance_id, session_id, password_hash, api_key_id, created_by, expires_at)
       SELECT organization_id, instance_id, session_id, '\\x00', hawser_new_id(), '{}', now() + interval '1 hour' FROM s
     ), p AS (
       INSERT INTO schedules (organization_id, name, prompt, directory, instance_ids, frequency, start_at, next_run_at, api_key_id, acts_as, created_by)
       SELECT organization_id, name, 'p', '/srv', ARRAY[instance_id], 'daily', now(), at, hawser_new_id(), '{}', '{}'
         FROM i, (VALUES ('due', now() - interval '1 hour'), ('ahead', now() + interval '1 day')) AS t (name, at)
     ) SELECT instance_id, session_id FROM s`,
  );
  const { instance_id: instance, session_id: session } = made!;
  await ownerSql(
    url,
    `INSERT INTO sign_in.accounts (user_id) SELECT user_id FROM users;
     INSERT INTO sign_in.sign_ins (token_hash, user_id, way, device, expires_at)
       SELECT '\\x01', user_id, 'password', 'browser', now() + interval '14 days' FROM sign_in.accounts;
     INSERT INTO sign_in.device_logins (secret_hash, code_hash, name, expires_at)
       VALUES ('\\x03', '\\x03', 'laptop', now() + interval '10 minutes');
     INSERT INTO sign_in.links (secret_hash, organization_id, user_id, expires_at)
       VALUES ('\\x04', hawser_new_id(), hawser_new_id(), now() + interval '15 minutes');
     INSERT INTO sign_in.device_sign_ins (sign_in_id, link_hash, expires_at)
       SELECT sign_in_id, '\\x05', now() + interval '2 minutes' FROM sign_in.sign_ins;
     INSERT INTO invitations (organization_id, secret_hash, email, role, created_by, creator_key_id, expires_at)
       SELECT organization_id, '\\x02', 'bob@acme.example', 'member', '{}', hawser_new_id(), now() + interval '3 days'
         FROM organizations`,
  );
  await ownerSql(
    url,
    `INSERT INTO session_log (session_id, seq, organization_id, at, update)
     SELECT $1, n, (SELECT organization_id FROM organizations), now(),
            jsonb_build_object('sessionUpdate', 'agent_message_chunk', 'text', repeat(n || ' ü', 40))
       FROM generate_series(1, $2::int) AS n`,
    [session, entries],
  );
  return { instanceId: `ins_${instance.replaceAll("-", "")}`, sessionId: session };
}

function writeHost(host: string, instanceId: string): void {
  mkdirSync(host, { mode: 0o700 });
  const journal = openJournal(join(host, `journal-${instanceId}.sqlite`));
  journal.commands.begin("before-the-backup", "x");
  journal.close();
  const credentials = {
    instanceId,
    seed: "SU",
    serverUrl: "http://127.0.0.1:1",
    token: "t",
    commandKey: "k",
  };
  writeFileSync(join(host, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  writeFileSync(join(host, "policy"), "root = /srv/code\n", { mode: 0o600 });
  mkdirSync(join(host, "worktrees/one"), { recursive: true });
  writeFileSync(join(host, "worktrees/one/work.txt"), "of an agent\n");
}

function must(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8", timeout: 60_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
}
