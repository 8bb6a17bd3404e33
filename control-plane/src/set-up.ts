// The commands that set a service up. Each can be run again: what exists stays, and what an interrupted run
// left out is done (decision 0072). A command returns its result, which main.ts prints: as text, or with
// --json as one line of JSON. Progress goes to standard error.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { bootstrap } from "./access/bootstrap.ts";
import { ConfigError, readConfig, type Config } from "./config.ts";
import { initFabric, writeNatsConfig } from "./fabric/init-fabric.ts";
import { openDatabase, type Database } from "./postgres/database.ts";
import { initDatabase } from "./postgres/init-database.ts";
import { migrate } from "./postgres/migrate.ts";
import { readMasterKeys } from "./secrets/master-key.ts";
import { makeSignInLink, type MadeLink } from "./sign-in/links.ts";

export type SetUpOptions = Partial<
  Record<
    | "admin-url"
    | "owner-password-file"
    | "node-password-file"
    | "directory"
    | "listen"
    | "websocket"
    | "monitor"
    | "organization"
    | "email"
    | "key-file",
    string
  >
>;

interface Result {
  /** The fields are promised to programs. */
  json: object;
  text: string[];
}

export const setUpCommands = new Map<string, (options: SetUpOptions) => Promise<Result>>([
  ["init-database", runInitDatabase],
  ["migrate", runMigrate],
  ["init-fabric", runInitFabric],
  ["nats-config", runNatsConfig],
  ["bootstrap", runBootstrap],
  ["sign-in-link", runSignInLink],
]);

async function runInitDatabase(options: SetUpOptions): Promise<Result> {
  // Arguments are visible to every user of the machine, and the address may contain a password.
  const adminUrl = options["admin-url"] ?? process.env["HAWSER_ADMIN_URL"];
  if (!adminUrl) throw new ConfigError("init-database needs --admin-url, or HAWSER_ADMIN_URL.");
  if (!/^postgres(?:ql)?:$/.test(URL.parse(adminUrl)?.protocol ?? "") || !new URL(adminUrl).host) {
    throw new ConfigError(
      "--admin-url must be an address such as postgres://postgres@host/postgres.",
    );
  }
  const json = await initDatabase({
    adminUrl,
    ownerPassword: await readPassword(options, "owner-password-file"),
    nodePassword: await readPassword(options, "node-password-file"),
  });
  const text = [
    `created  ${json.created.join(", ") || "nothing: all of it was there"}`,
    `migrate  HAWSER_DATABASE_URL=${json.ownerUrl}`,
    `nodes    HAWSER_DATABASE_URL=${json.nodeUrl}`,
  ];
  return { json, text };
}

async function readPassword(
  options: SetUpOptions,
  option: "owner-password-file" | "node-password-file",
): Promise<string | undefined> {
  const file = options[option];
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch((cause: Error) => {
    throw new ConfigError(`--${option}: ${file} cannot be read: ${cause.message}.`, { cause });
  });
  const password = text.trimEnd();
  if (/^[\x21-\x7e]+$/.test(password)) return password;
  throw new ConfigError(
    `--${option}: ${file} must contain one password, of ASCII letters, digits and signs, without spaces.`,
  );
}

async function runMigrate(): Promise<Result> {
  const { databaseUrl } = readConfig(process.env);
  const applied = await migrate(databaseUrl, { say: (line) => console.error(line) });
  const text = [`migrations applied: ${applied.length}; the database is up to date`];
  return { json: { applied }, text };
}

async function runInitFabric({ directory, ...addresses }: SetUpOptions): Promise<Result> {
  if (!directory) throw new ConfigError("init-fabric needs --directory.");
  const config = readConfig(process.env);
  const masterKeys = await readMasterKeys(config);
  await using database = openOwnDatabase(config);
  const json = await initFabric(database, masterKeys, { directory, ...addresses });
  const text = [
    json.created
      ? "keys      created"
      : "keys      exist already; files that were missing are written",
    `NATS      start it with: nats-server --config ${json.configFile}`,
    ...(json.seedFile === null
      ? []
      : [
          `operator  ${json.seedFile}`,
          "The operator's seed can replace every other key. Move it to a place that is offline; nothing here needs it.",
        ]),
  ];
  return { json, text };
}

async function runNatsConfig({ directory, ...addresses }: SetUpOptions): Promise<Result> {
  if (!directory) throw new ConfigError("nats-config needs --directory.");
  const config = readConfig(process.env);
  const masterKeys = await readMasterKeys(config);
  await using database = openOwnDatabase(config);
  const json = await writeNatsConfig(database, masterKeys, { directory, ...addresses });
  return { json, text: [`NATS  start it with: nats-server --config ${json.configFile}`] };
}

async function runBootstrap(options: SetUpOptions): Promise<Result> {
  const { organization: name, email } = options;
  const keyFile = options["key-file"] ? resolve(options["key-file"]) : undefined;
  if (!name || !email) throw new ConfigError("bootstrap needs --organization and --email.");
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) {
    throw new ConfigError(`--email: "${email}" is not an e-mail address.`);
  }
  const config = readConfig(process.env);
  await using database = openOwnDatabase(config);
  const { key, ...made } = await bootstrap(database, { name, email, keyFile });
  const isShown = keyFile === undefined;
  const signIn = isShown ? await firstLink(database, config, email) : [];
  const text = [
    `organization  ${made.organizationId}${made.created ? "" : ", which existed already"}`,
    `owner         ${made.userId ?? "unknown"}${made.created ? ` ${email}` : ""}`,
    `API key       ${isShown ? key : `in ${keyFile}`}`,
    ...(isShown
      ? ["The key is not shown again. It belongs to the owner and has every permission."]
      : []),
    ...signIn,
  ];
  return { json: { ...made, ...(isShown ? { key } : { keyFile }) }, text };
}

async function runSignInLink({ email }: SetUpOptions): Promise<Result> {
  const config = readConfig(process.env);
  await using database = openOwnDatabase(config);
  const json = await linkOf(database, config, email);
  return { json, text: describeLink(json) };
}

/** The key must be shown, whatever happens here. */
async function firstLink(database: Database, config: Config, email: string): Promise<string[]> {
  try {
    return describeLink(await linkOf(database, config, email));
  } catch (error) {
    return [
      `sign in       no link was made: ${(error as Error).message} Run sign-in-link to try again.`,
    ];
  }
}

const linkOf = (database: Database, { baseUrl }: Config, email: string | undefined) =>
  makeSignInLink(database.connectionsFor("accounts"), { email, baseUrl });

const describeLink = ({ url, email }: MadeLink) => [
  `sign in       ${url}`,
  `The link signs ${email} in, once, within 15 minutes. For another one, run sign-in-link.`,
];

/** A command's connections to the database of the settings. */
export function openOwnDatabase(config: Config): Database {
  return openDatabase({
    url: config.databaseUrl,
    connections: 2,
    patienceMs: config.database.patienceMs,
    onIdleError: () => {},
  });
}
