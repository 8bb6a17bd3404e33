// `init-database`: creates the logins, the database roles and the database of a new service. Every step
// first checks whether it is done, so the command can be run again, also after it was interrupted.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import pg from "pg";
import { ConfigError } from "../config.ts";
import { explainAdmin, unreachable } from "./unfit-database.ts";

const names = { database: "hawser", owner: "hawser_owner", node: "hawser_node" };
/** Migrations create these too, for databases that were made by hand. */
const databaseRoles = ["hawser_app", "hawser_system", "hawser_sign_in"];
const oldestVersion = 15;
const lockKey = 0x4a57_5346; // any number that migrate does not use
const connectionTimeoutMillis = 10_000;

export interface InitDatabaseOptions {
  /** Connects as a login that may create roles and databases. */
  adminUrl: string;
  /** Replace the passwords of the logins. By default, passwords stay as they are. */
  ownerPassword?: string | undefined;
  nodePassword?: string | undefined;
}

export interface InitializedDatabase {
  /** Roles and the database; without those that existed. */
  created: string[];
  /** Connects as the owner of the schema. Without a password. */
  ownerUrl: string;
  /** Connects as the login of the nodes. Without a password. */
  nodeUrl: string;
}

export async function initDatabase(options: InitDatabaseOptions): Promise<InitializedDatabase> {
  const { adminUrl, ownerPassword, nodePassword } = options;
  const client = new pg.Client({
    connectionString: adminUrl,
    application_name: "hawser init-database",
    connectionTimeoutMillis,
  });
  // The query that runs then fails too. An error without a listener would end the process.
  client.on("error", () => {});
  await client.connect().catch((cause: unknown) => {
    throw unreachable(cause, "--admin-url");
  });
  const created: string[] = [];
  try {
    await refuseOldServer(client);
    await client.query("SELECT pg_advisory_lock($1)", [lockKey]);
    // The first migration creates database roles, and fails without CREATEROLE even if they exist.
    await ensureRole(client, names.owner, { login: true, createRole: true }, created);
    await ensureRole(client, names.node, { login: true, createRole: false }, created);
    for (const role of databaseRoles) {
      await ensureRole(client, role, { login: false, createRole: false }, created);
      // Migrations grant the roles to the owner again, which needs the ADMIN OPTION.
      await ensureMember(client, role, names.owner, { admin: true });
      await ensureMember(client, role, names.node, { admin: false });
    }
    if (ownerPassword !== undefined) await setPassword(client, names.owner, ownerPassword);
    if (nodePassword !== undefined) await setPassword(client, names.node, nodePassword);
    await ensureDatabase(client, created);
  } catch (error) {
    throw explainAdmin(error);
  } finally {
    await client.end();
  }
  return {
    created,
    ownerUrl: urlOf(adminUrl, names.owner),
    nodeUrl: urlOf(adminUrl, names.node),
  };
}

async function refuseOldServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number }>(
    `SELECT current_setting('server_version') AS version,
            current_setting('server_version_num')::int AS number`,
  );
  const { version, number } = rows[0]!;
  if (number >= oldestVersion * 10_000) return;
  throw new ConfigError(
    `PostgreSQL must be version ${oldestVersion} or later, and this server is ${version}. Set --admin-url to a newer server.`,
  );
}

async function ensureRole(
  client: pg.Client,
  name: string,
  wanted: { login: boolean; createRole: boolean },
  created: string[],
): Promise<void> {
  const { rows } = await client.query<{ login: boolean; createRole: boolean }>(
    `SELECT rolcanlogin AS login, rolcreaterole OR rolsuper AS "createRole"
       FROM pg_roles WHERE rolname = $1`,
    [name],
  );
  const attributes = `${wanted.login ? "LOGIN" : "NOLOGIN"}${wanted.createRole ? " CREATEROLE" : ""}`;
  const [role] = rows;
  if (!role) {
    await client.query(`CREATE ROLE ${name} ${attributes}`);
    created.push(name);
  } else if ((wanted.login && !role.login) || (wanted.createRole && !role.createRole)) {
    await client.query(`ALTER ROLE ${name} ${attributes}`);
  }
}

async function ensureMember(
  client: pg.Client,
  role: string,
  member: string,
  { admin }: { admin: boolean },
): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_auth_members
      WHERE roleid = $1::regrole AND member = $2::regrole AND (admin_option OR NOT $3)`,
    [role, member, admin],
  );
  if (rowCount) return;
  await client.query(`GRANT ${role} TO ${member}${admin ? " WITH ADMIN OPTION" : ""}`);
}

async function ensureDatabase(client: pg.Client, created: string[]): Promise<void> {
  const { database, owner } = names;
  const { rows } = await client.query<{ owner: string }>(
    "SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1",
    [database],
  );
  const [found] = rows;
  if (found && found.owner !== owner) {
    throw new ConfigError(
      `There is a database ${database} already, and it belongs to ${found.owner}. If it is Hawser's, run this as an administrator: ALTER DATABASE ${database} OWNER TO ${owner}. If not, use another server.`,
    );
  }
  if (found) return;
  // Only a superuser may create a database for an owner without being a member of that role.
  const { rows: self } = await client.query<{ superuser: boolean }>(
    "SELECT rolsuper AS superuser FROM pg_roles WHERE rolname = current_user",
  );
  if (!self[0]!.superuser) await client.query(`GRANT ${owner} TO CURRENT_USER`);
  await client.query(`CREATE DATABASE ${database} OWNER ${owner}`);
  created.push(database);
}

/** Sends the password's verifier, so that the password itself appears in no log of the server. */
async function setPassword(client: pg.Client, login: string, password: string): Promise<void> {
  await client.query(`ALTER ROLE ${login} PASSWORD '${scramVerifier(password)}'`);
}

/** As PostgreSQL stores it (RFC 5803). The password must be ASCII, which SASLprep leaves as it is. */
function scramVerifier(password: string): string {
  const iterations = 4096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const keyed = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const serverKey = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}

function urlOf(adminUrl: string, login: string): string {
  const url = new URL(adminUrl);
  url.username = login;
  url.password = "";
  url.pathname = `/${names.database}`;
  for (const name of ["user", "password"]) url.searchParams.delete(name);
  return url.href;
}
