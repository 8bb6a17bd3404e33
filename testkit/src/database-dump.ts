// The whole content of a database, as a thief of its backup would read it.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The rows of every table, as text. Binary columns are shown as hexadecimal digits. */
export async function dumpDatabase(databaseUrl: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    "pg_dump",
    ["--data-only", "--inserts", databaseUrl],
    {
      maxBuffer: 256 * 1024 * 1024,
    },
  );
  return stdout;
}
