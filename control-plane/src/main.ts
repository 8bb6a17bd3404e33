#!/usr/bin/env node
// The control plane's command line:
//
//   serve         runs a node
//   edge          runs only the edge that hosts connect to
//   migrate       updates the database to this version
//   bootstrap     creates the first organization, user and key
//   init-fabric   creates the keys of NATS
//   edge-file     writes what a separate edge needs
//   rotate        replaces a key of the service
import { parseArgs } from "node:util";
import { bootstrap } from "./access/bootstrap.ts";
import {
  ConfigError,
  describeSettings,
  readConfig,
  readEdgeConfig,
  type Config,
} from "./config.ts";
import { startEdgeNode } from "./edge-node.ts";
import { makeEdgeIdentity, writeEdgeFile } from "./fabric/edge-identity.ts";
import { readFabricKeys } from "./fabric/fabric-keys.ts";
import { initFabric, type FabricPlace } from "./fabric/init-fabric.ts";
import { startNode } from "./node.ts";
import { openDatabase } from "./postgres/database.ts";
import { migrate } from "./postgres/migrate.ts";
import { rotateNatsKeys } from "./rotate-nats-keys.ts";
import { rotateCommandKey, rotateMasterKey } from "./rotate.ts";
import { readMasterKeys } from "./secrets/master-key.ts";

const usage = `usage: hawser-control-plane <command>

  serve                               run a node until SIGTERM
  edge                                run only the edge for hosts, at HAWSER_LISTEN, until SIGTERM;
                                      SIGHUP: read the edge file again
  migrate                             bring the database to this version
  bootstrap --organization NAME --email ADDRESS
                                      make the first organization, its owner and an API key,
                                      and print the key, once
  init-fabric --directory DIR [--listen HOST:PORT] [--websocket HOST:PORT] [--monitor HOST:PORT]
                                      make the keys that hosts and nats-servers are known by, once,
                                      and write a nats-server's configuration into DIR
  rotate master-key                   encrypt every secret with the newer of two master keys
  rotate command-key begin|switch|finish [--leave-behind]
                                      replace the key that signs commands, in three steps
  rotate nats-keys begin|switch|finish --directory DIR
                                      replace the keys of NATS, in three steps, and write what
                                      nats-servers trust into DIR
  edge-file --out FILE                write what a separate edge needs: a NATS user of its own and
                                      public keys

settings, from the environment:
${describeSettings()}
`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      organization: { type: "string" },
      email: { type: "string" },
      directory: { type: "string" },
      listen: { type: "string" },
      websocket: { type: "string" },
      monitor: { type: "string" },
      out: { type: "string" },
      "leave-behind": { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  const command = positionals[0];
  if (values.help || positionals.length !== wordsOf(positionals)) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  switch (command) {
    case "serve":
      return untilSignal(await startNode(readConfig(process.env)));
    case "edge":
      return runEdge();
    case "migrate": {
      const ran = await migrate(readConfig(process.env).databaseUrl);
      console.log(ran.length > 0 ? `applied ${ran.join(", ")}` : "the database is up to date");
      return;
    }
    case "bootstrap":
      return runBootstrap(values.organization, values.email);
    case "init-fabric":
      return runInitFabric(values);
    case "rotate":
      return runRotate(positionals.slice(1), values);
    case "edge-file":
      return runEdgeFile(values.out);
    default:
      throw new ConfigError(
        `There is no command "${command}". Run with --help to see what there is.`,
      );
  }
}

/** How many words a command has. */
const wordsOf = ([command, key]: string[]) =>
  command !== "rotate" ? 1 : key === "master-key" ? 2 : 3;

async function untilSignal(running: { stop(): Promise<void> }): Promise<void> {
  const signal = await new Promise<string>((resolve) => {
    process.once("SIGTERM", () => resolve("SIGTERM"));
    process.once("SIGINT", () => resolve("SIGINT"));
  });
  // A second signal stops the process immediately.
  process.once(signal, () => process.exit(1));
  await running.stop();
}

async function runEdge(): Promise<void> {
  const edge = await startEdgeNode(readEdgeConfig(process.env));
  process.on("SIGHUP", () => void edge.reload());
  await untilSignal(edge);
}

async function runBootstrap(
  organization: string | undefined,
  email: string | undefined,
): Promise<void> {
  if (!organization || !email) throw new ConfigError("bootstrap needs --organization and --email.");
  await using database = openOwnDatabase(readConfig(process.env));
  const made = await bootstrap(database, organization, email);
  console.log(`organization  ${made.organizationId}`);
  console.log(`owner         ${made.userId} ${email}`);
  console.log(`API key       ${made.key}`);
  console.log("The key is not shown again. It belongs to the owner and has every permission.");
}

async function runInitFabric({ directory, ...addresses }: Partial<FabricPlace>): Promise<void> {
  if (!directory) throw new ConfigError("init-fabric needs --directory.");
  const config = readConfig(process.env);
  const masterKeys = await readMasterKeys(config);
  await using database = openOwnDatabase(config);
  const { configFile, seedFile } = await initFabric(database.system, masterKeys, {
    directory,
    listen: addresses.listen,
    websocket: addresses.websocket,
    monitor: addresses.monitor,
  });
  console.log(`NATS      start it with: nats-server --config ${configFile}`);
  console.log(`operator  ${seedFile}`);
  console.log(
    "The operator's seed can replace every other key. Move it to a place that is offline; nothing here needs it.",
  );
}

async function runRotate(
  [key, step]: string[],
  options: { "leave-behind": boolean; directory?: string | undefined },
): Promise<void> {
  const config = readConfig(process.env);
  const masterKeys = await readMasterKeys(config);
  await using database = openOwnDatabase(config);
  if (key === "master-key") {
    console.log(await rotateMasterKey(database, masterKeys));
    return;
  }
  if (key !== "command-key" && key !== "nats-keys") {
    throw new ConfigError(`There is no key "${key}" to rotate.`);
  }
  if (step !== "begin" && step !== "switch" && step !== "finish") {
    throw new ConfigError("The step must be begin, switch or finish.");
  }
  const leaveBehind = options["leave-behind"];
  if (key === "command-key") {
    console.log(await rotateCommandKey({ database, masterKeys, step, leaveBehind }));
    return;
  }
  const { directory } = options;
  if (!directory) throw new ConfigError("rotate nats-keys needs --directory.");
  const { natsUrls: urls } = config;
  if (urls.length === 0) throw new ConfigError("rotate nats-keys needs HAWSER_NATS_URLS.");
  console.log(await rotateNatsKeys({ database, masterKeys, step, leaveBehind, directory, urls }));
}

async function runEdgeFile(out: string | undefined): Promise<void> {
  if (!out) throw new ConfigError("edge-file needs --out.");
  const config = readConfig(process.env);
  await using database = openOwnDatabase(config);
  const keys = await readFabricKeys(database.system, await readMasterKeys(config));
  if (!keys) throw new ConfigError("There is no fabric yet. Run init-fabric first.");
  await writeEdgeFile(out, makeEdgeIdentity(keys));
  console.log(`edge  start it with: HAWSER_EDGE_FILE=${out} hawser-control-plane edge`);
}

function openOwnDatabase(config: Config) {
  return openDatabase({
    url: config.databaseUrl,
    connections: 2,
    patienceMs: config.database.patienceMs,
    onIdleError: () => {},
  });
}

main().catch((error: unknown) => {
  if (
    error instanceof ConfigError ||
    (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS")
  ) {
    console.error((error as Error).message);
    process.exit(2);
  } else {
    console.error(error);
    process.exit(1);
  }
});
