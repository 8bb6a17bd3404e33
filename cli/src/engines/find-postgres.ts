// A PostgreSQL for `hawser up`: the newest that is installed, else the package's. Data of one major version
// is opened by that one only.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import { platformHere } from "./engine-list.ts";
import { filesLike } from "./files-like.ts";
import { isAtLeast, programDirectories, versionOf } from "./installed.ts";
import { listedEngine, obtainEngine, type ObtainOptions } from "./obtain-engine.ts";

export interface Postgres {
  /** The directory of its programs. */
  bin: string;
  major: number;
  version: string;
  origin: "installed" | "package";
}

export interface FindPostgres extends ObtainOptions {
  /** Only this major version: data of it exists. */
  major?: number | undefined;
}

/** PostgreSQL before 17 has no locale of its own, and macOS none that is the same on every release. */
const floor = process.platform === "darwin" ? 17 : 15;
/** What `up`, backups and upgrades run. */
const programs = ["postgres", "initdb", "pg_ctl", "pg_dump", "pg_dumpall", "pg_restore", "psql"];
const places = [
  "/usr/lib/postgresql/*/bin",
  "/usr/lib/postgresql*/bin",
  "/usr/pgsql-*/bin",
  "/opt/homebrew/opt/postgresql*/bin",
  "/usr/local/opt/postgresql*/bin",
  "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/** Throws CommandFailed. */
export async function findPostgres(options: FindPostgres): Promise<Postgres> {
  const { major } = options;
  const named = process.env["HAWSER_POSTGRES_BIN"];
  if (named) return await useNamed(named, major);
  const installed = await findInstalled();
  const fits = (found: { major: number }) => major === undefined || found.major === major;
  const [newest] = installed
    .filter(fits)
    .sort((a, b) => (isAtLeast(a.version, b.version) ? -1 : 1));
  if (newest) return newest;
  const unpacked =
    major === undefined ? undefined : await findUnpacked(options.dataDirectory, major);
  if (unpacked) return unpacked;
  const engine = listedEngine("postgres", options);
  const found = engine && fits(ofEngine(engine.version)) && (await obtainEngine(engine, options));
  if (found) {
    return {
      bin: join(found.directory, "bin"),
      ...ofEngine(found.engine.version),
      origin: "package",
    };
  }
  throw missing(major, engine && ofEngine(engine.version).major);
}

/** npm's version 18.6.0 is PostgreSQL 18.6. */
function ofEngine(version: string): { major: number; version: string } {
  return { major: Number.parseInt(version, 10), version: version.replace(/\.\d+$/, "") };
}

async function findInstalled(): Promise<Postgres[]> {
  const candidates = [...new Set([...filesLike("/", ...places), ...programDirectories()])];
  const found = await Promise.all(candidates.map((bin) => look(bin, "installed")));
  return found.filter(
    (postgres) => postgres !== undefined && postgres.major >= floor,
  ) as Postgres[];
}

/** An engine that an earlier version of Hawser has unpacked; data that it made needs it. */
async function findUnpacked(dataDirectory: string, major: number): Promise<Postgres | undefined> {
  const found = await Promise.all(
    filesLike(dataDirectory, `engines/postgres-${major}.*/bin`).map((bin) => look(bin, "package")),
  );
  return found
    .filter((postgres) => postgres !== undefined)
    .sort((a, b) => (isAtLeast(a.version, b.version) ? -1 : 1))[0];
}

/** undefined if the directory lacks a program, or the server does not run. */
async function look(bin: string, origin: Postgres["origin"]): Promise<Postgres | undefined> {
  if (!programs.every((program) => existsSync(join(bin, program)))) return undefined;
  const version = await versionOf(join(bin, "postgres"));
  return version ? { bin, major: Number.parseInt(version, 10), version, origin } : undefined;
}

async function useNamed(bin: string, major: number | undefined): Promise<Postgres> {
  const postgres = await look(bin, "installed");
  if (!postgres) {
    throw new CommandFailed(
      `HAWSER_POSTGRES_BIN names ${bin}, which does not contain the programs ${programs.join(", ")}. Name the directory of a PostgreSQL server, or unset it.`,
    );
  }
  if (postgres.major < floor) {
    throw new CommandFailed(
      `HAWSER_POSTGRES_BIN names PostgreSQL ${postgres.version}, and ${floor} or later is needed.`,
    );
  }
  if (major !== undefined && postgres.major !== major) {
    throw new CommandFailed(
      `The data is of PostgreSQL ${major}, and HAWSER_POSTGRES_BIN names ${postgres.version}. Name the programs of PostgreSQL ${major}, or upgrade the data with "hawser up --upgrade-database".`,
    );
  }
  return postgres;
}

function missing(major: number | undefined, packaged: number | undefined): CommandFailed {
  const here = platformHere();
  if (major !== undefined) {
    const other = packaged === undefined ? "" : ` The package for ${here} has ${packaged}.`;
    return new CommandFailed(
      `The data is of PostgreSQL ${major}, which is not on this machine.${other} Install PostgreSQL ${major} again, or name the directory of its programs in HAWSER_POSTGRES_BIN.`,
    );
  }
  return new CommandFailed(
    `There is no PostgreSQL ${floor} or later on this machine, and no package with it for ${here}. Install PostgreSQL, name the directory of its programs in HAWSER_POSTGRES_BIN, or use a server elsewhere with --postgres-url.`,
  );
}
