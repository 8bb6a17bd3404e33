// Runs PostgreSQL's programs. They see none of the user's own settings of PostgreSQL, such as PGOPTIONS.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { CommandFailed } from "../command-failed.ts";
import type { Postgres } from "../engines/find-postgres.ts";

/** Where a running server is reached. */
export interface Server {
  postgres: Postgres;
  socketDirectory: string;
}

/** The database that `hawser up` makes. */
export const databaseName = "hawser";
export const superuser = "postgres";

export const programEnvironment = () => ({
  PATH: process.env["PATH"] ?? "/usr/bin:/bin",
  LC_ALL: "C",
  // A server that hangs accepts a connection and never answers.
  PGCONNECT_TIMEOUT: "10",
});

/** A running program with pipes. `done` rejects with a sentence if the program fails. */
export interface Running {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  done: Promise<void>;
}

export function startProgram(postgres: Postgres, program: string, args: string[]): Running {
  const child = spawn(join(postgres.bin, program), args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: programEnvironment(),
  });
  // A program that ends early closes its input; its own message says why.
  child.stdin.on("error", () => {});
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    complaints = (complaints + part).slice(-4_000);
  });
  const done = new Promise<void>((resolve, reject) => {
    child.once("error", (cause) => {
      reject(new CommandFailed(`${program} cannot be run: ${cause.message}.`));
    });
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new CommandFailed(explain(program, complaints, code ?? signal)));
    });
  });
  // The caller may still be busy with the pipes when it fails.
  done.catch(() => {});
  return { child, done };
}

function explain(program: string, complaints: string, code: number | string | null): string {
  const lines = complaints.trim();
  if (/no space left on device/i.test(lines)) {
    return `The disk is full, so ${program} failed. Free some space and run the command again.`;
  }
  return `${program} failed (${code}): ${lines || "it printed no reason"}`;
}

/** Returns what the program printed. */
export async function runProgram(
  postgres: Postgres,
  program: string,
  args: string[],
  input = "",
): Promise<string> {
  const { child, done } = startProgram(postgres, program, args);
  child.stdin.end(input);
  const output = await text(child.stdout);
  await done;
  return output;
}

export const connectionOptions = (server: Server, database = databaseName) => [
  "--host",
  server.socketDirectory,
  "--port",
  "5432",
  "--username",
  superuser,
  "--no-password",
  "--dbname",
  database,
];

/** Runs SQL as the superuser, up to the first error. Returns the rows, one a line. */
export async function runSql(server: Server, sql: string, database?: string): Promise<string[]> {
  const options = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"];
  const output = await runProgram(
    server.postgres,
    "psql",
    [...options, "--set", "ON_ERROR_STOP=1", ...connectionOptions(server, database)],
    sql,
  );
  return output.split("\n").filter((line) => line !== "");
}
