// `hawser upload FILE`: uploads a file for prompts, and prints its id for an attachment of send_prompt.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Command } from "commander";
import { CommandFailed } from "./command-failed.ts";
import { connect, explain, unreachableMs } from "./connect.ts";
import { printField } from "./pick.ts";
import { dataDirectory, readLogin } from "./settings.ts";
import { printText, safeJson } from "./terminal.ts";

interface Options {
  data?: string;
  mime?: string;
  pick?: string;
}

export function addUpload(program: Command): void {
  program
    .command("upload")
    .summary("upload a file for a prompt")
    .description(
      "Uploads a file of at most 16 MiB, and prints its fileId for the attachments of send_prompt.",
    )
    .argument("<file>", "the file")
    .option("--mime <type>", "its media type (default: application/octet-stream)")
    .option("--pick <field>", "print only this field of the answer")
    .option("--data <directory>", "the data directory of hawser up")
    .action(async (path: string, options: Options) => {
      process.once("SIGINT", () => process.exit(130));
      const login = readLogin(dataDirectory(options.data));
      const content = readContent(path);
      using connection = connect(login, {
        waitsFor: "the upload",
        deadlineMs: 120_000,
        unreachableMs,
      });
      const about = {
        filename: basename(path),
        signal: connection.signal,
        ...(options.mime !== undefined && { mime: options.mime }),
      };
      const stored = await connection.client.uploadFile(content, about).catch((error: unknown) => {
        throw explain(error) ?? error;
      });
      if (options.pick === undefined) printText(safeJson(stored, process.stdout.isTTY));
      else printField(stored, options.pick);
    });
}

function readContent(path: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (error) {
    throw new CommandFailed(`${path} cannot be read: ${(error as Error).message}.`, 2);
  }
}
