// Runs a command of the control plane that ends by itself, as an operator runs it, with the settings of
// a world's nodes.
import { execFile } from "node:child_process";
import { mainFile } from "./main-file.ts";
import { nodeEnvironment } from "./node-environment.ts";
import type { World } from "./world.ts";

export interface CommandEnd {
  status: number;
  stdout: string;
  stderr: string;
}

const main = mainFile("control-plane");
const patienceMs = 60_000;

export function runControlPlane(
  { database, masterKeyFile, nats }: Pick<World, "database" | "masterKeyFile" | "nats">,
  args: readonly string[],
): Promise<CommandEnd> {
  const env = {
    ...nodeEnvironment(),
    HAWSER_DATABASE_URL: database.url,
    HAWSER_MASTER_KEY_FILE: masterKeyFile,
    HAWSER_NATS_URLS: nats?.urls.join(",") ?? "",
    HAWSER_NATS_WEBSOCKETS: nats?.websockets.join(",") ?? "",
  };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [main, ...args],
      { env, timeout: patienceMs },
      (error, stdout, stderr) =>
        resolve({ status: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}
