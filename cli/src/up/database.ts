// The database that `hawser up` uses: its own cluster, or a PostgreSQL of the operator.
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import { clusterOf, databaseUrl } from "./postgres.ts";

export interface Database {
  /** Connects as the owner of the schema. */
  ownerUrl: string;
  /** Connects as the login of the node. */
  nodeUrl: string;
  /** For init-database; undefined if the logins and the database exist. */
  init?: { adminUrl: string; words: string[] };
  /** Changes when another database is used. */
  identity: string;
}

export function ownDatabase(dataDirectory: string): Database {
  const { ino, birthtimeMs } = statSync(clusterOf(dataDirectory));
  return {
    ownerUrl: databaseUrl(dataDirectory, "hawser_owner", "hawser"),
    nodeUrl: databaseUrl(dataDirectory, "hawser_node", "hawser"),
    init: { adminUrl: databaseUrl(dataDirectory, "postgres", "postgres"), words: [] },
    identity: `own ${ino} ${birthtimeMs}`,
  };
}

/**
 * The database of --postgres-url. An address that names the database postgres, or none, is an
 * administrator's: the logins and the database are made, with passwords that are kept in the data directory.
 * Any other is the owner's, and the node uses it too.
 */
export function companyDatabase(dataDirectory: string, url: string): Database {
  const parsed = parsePostgresUrl(url);
  const database = parsed.pathname.slice(1);
  if (database !== "" && database !== "postgres") {
    return { ownerUrl: url, nodeUrl: url, identity: url };
  }
  parsed.pathname = "/postgres";
  const files = { owner: password(dataDirectory, "owner"), node: password(dataDirectory, "node") };
  const urlOf = (login: string, file: string) => {
    const own = new URL(url);
    own.username = login;
    own.password = readFileSync(file, "utf8").trim();
    own.pathname = "/hawser";
    return own.href;
  };
  return {
    ownerUrl: urlOf("hawser_owner", files.owner),
    nodeUrl: urlOf("hawser_node", files.node),
    init: {
      adminUrl: parsed.href,
      words: ["--owner-password-file", files.owner, "--node-password-file", files.node],
    },
    identity: url,
  };
}

/** Throws CommandFailed if it is no address of a PostgreSQL. */
export function parsePostgresUrl(text: string): URL {
  const url = URL.parse(text);
  if (url && /^postgres(?:ql)?:$/.test(url.protocol) && url.host !== "") return url;
  throw new CommandFailed(
    "--postgres-url needs an address such as postgres://postgres:PASSWORD@host/postgres.",
    2,
  );
}

/** The file of a login's password, which is made once. */
function password(dataDirectory: string, login: "owner" | "node"): string {
  const file = join(dataDirectory, `${login}-password`);
  if (!existsSync(file)) {
    const text = `${randomBytes(24).toString("base64url")}\n`;
    writeFileSync(`${file}.next`, text, { mode: 0o600, flush: true });
    renameSync(`${file}.next`, file);
  }
  return file;
}
