#!/usr/bin/env node
// The control plane's command line:
//
//   serve         runs a node
//   edge          runs only the edge that hosts connect to
//   migrate       updates the database to this version
//   bootstrap     creates the first organization, user and key
//   init-fabric   creates the keys of NATS
import { parseArgs } from "node:util";
import { bootstrap } from "./access/bootstrap.ts";
import { ConfigError, describeSettings, readConfig, type Config } from "./config.ts";
import { startEdgeNode } from "./edge-node.ts";
import { initFabric, type FabricPlace } from "./fabric/init-fabric.ts";
import { startNode } from "./node.ts";
import { openDatabase } from "./postgres/database.ts";
import { migrate } from "./postgres/migrate.ts";
import { readMasterKey } from "./secrets/master-key.ts";

const usage = `usage: hawser-control-plane <command>

  serve                               run a node until SIGTERM
  edge                                run only the edge for hosts, at HAWSER_LISTEN, until SIGTERM
  migrate                             bring the database to this version
  bootstrap --organization NAME --email ADDRESS
                                      make the first organization, its owner and an API key,
                                      and print the key, once
  init-fabric --directory DIR [--listen HOST:PORT] [--websocket HOST:PORT] [--monitor HOST:PORT]
                                      make the keys that hosts and nats-servers are known by, once,
                                      and write a nats-server's configuration into DIR

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
      help: { type: "boolean", short: "h" },
    },
  });
  const command = positionals[0];
  if (values.help || positionals.length !== 1) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  switch (command) {
    case "serve":
      return untilSignal(await startNode(readConfig(process.env)));
    case "edge":
      return untilSignal(await startEdgeNode(readConfig(process.env)));
    case "migrate": {
      const ran = await migrate(readConfig(process.env).databaseUrl);
      console.log(ran.length > 0 ? `applied ${ran.join(", ")}` : "the database is up to date");
      return;
    }
    case "bootstrap":
      return runBootstrap(values.organization, values.email);
    case "init-fabric":
      return runInitFabric(values);
    default:
      throw new ConfigError(
        `There is no command "${command}". Run with --help to see what there is.`,
      );
  }
}

async function untilSignal(running: { stop(): Promise<void> }): Promise<void> {
  const signal = await new Promise<string>((resolve) => {
    process.once("SIGTERM", () => resolve("SIGTERM"));
    process.once("SIGINT", () => resolve("SIGINT"));
  });
  // A second signal stops the process immediately.
  process.once(signal, () => process.exit(1));
  await running.stop();
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
  const masterKey = await readMasterKey(config);
  await using database = openOwnDatabase(config);
  const { configFile, seedFile } = await initFabric(database.system, masterKey, {
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
