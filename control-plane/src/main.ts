#!/usr/bin/env node
// The control plane's command line:
//
//   serve           runs a node
//   edge            runs only the edge that hosts connect to
//   init-database   creates logins and a database
//   migrate         updates the database to this version
//   bootstrap       creates the first organization, user and key
//   sign-in-link    creates a link with which an owner signs in
//   init-fabric     creates the keys of NATS
//   nats-config     writes the configuration of a nats-server
//   edge-file       writes what a separate edge needs
//   rotate          replaces a key of the service
import { parseArgs } from "node:util";
import { ConfigError, describeSettings, readConfig, readEdgeConfig } from "./config.ts";
import { startEdgeNode } from "./edge-node.ts";
import { makeEdgeIdentity, writeEdgeFile } from "./fabric/edge-identity.ts";
import { readFabricKeys } from "./fabric/fabric-keys.ts";
import { explainUnfit } from "./postgres/unfit-database.ts";
import { rotateNatsKeys } from "./rotate-nats-keys.ts";
import { rotateCommandKey, rotateMasterKey } from "./rotate.ts";
import { readMasterKeys } from "./secrets/master-key.ts";
import { openOwnDatabase, setUpCommands } from "./set-up.ts";

const usage = `usage: hawser-control-plane <command>

  serve                               run a node until SIGTERM
  edge                                run only the edge for hosts, at HAWSER_LISTEN, until SIGTERM;
                                      SIGHUP: read the edge file again
  init-database --admin-url URL [--owner-password-file FILE] [--node-password-file FILE]
                                      make the logins hawser_owner and hawser_node, and the
                                      database hawser; HAWSER_ADMIN_URL instead of the option
                                      hides a password from other users
  migrate                             update the database to this version
  init-fabric --directory DIR [--listen HOST:PORT] [--websocket HOST:PORT] [--monitor HOST:PORT]
                                      make the keys that hosts and nats-servers are known by, and
                                      write a nats-server's configuration into DIR
  nats-config --directory DIR [--listen HOST:PORT] [--websocket HOST:PORT] [--monitor HOST:PORT]
                                      write that configuration again
  bootstrap --organization NAME --email ADDRESS [--key-file FILE]
                                      make the first organization, its owner and an API key, and
                                      print the key, once, or write it into FILE
      The five commands above can be repeated. With --json they print one line of JSON.
  sign-in-link [--email ADDRESS] [--json]
                                      make a link with which an owner without password and passkey
                                      signs in with a browser, once, within 15 minutes
  rotate master-key                   encrypt every secret with the newer of two master keys
  rotate command-key begin|switch|finish [--leave-behind]
                                      replace the key that signs commands, in three steps
  rotate nats-keys begin|switch|finish --directory DIR
                                      replace the keys of NATS, in three steps, and write what
                                      nats-servers trust into DIR
  edge-file --out FILE                write what a separate edge needs: a NATS user of its own and
                                      public keys

settings, from the environment (docs/guide/operating.md#settings has more about each):
${describeSettings()}
`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      "admin-url": { type: "string" },
      "owner-password-file": { type: "string" },
      "node-password-file": { type: "string" },
      organization: { type: "string" },
      email: { type: "string" },
      "key-file": { type: "string" },
      directory: { type: "string" },
      listen: { type: "string" },
      websocket: { type: "string" },
      monitor: { type: "string" },
      out: { type: "string" },
      json: { type: "boolean", default: false },
      "leave-behind": { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help || positionals.length === 0) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const [command, ...words] = positionals;
  if (command !== "rotate" && words.length > 0) {
    throw new ConfigError(
      `The command "${command}" takes no "${words[0]}". Run with --help to see what it takes.`,
    );
  }
  const setUp = setUpCommands.get(command!);
  if (setUp) {
    const { json, text } = await setUp(values);
    console.log(values.json ? JSON.stringify(json) : text.join("\n"));
    return;
  }
  if (values.json) throw new ConfigError(`The command "${command}" takes no --json.`);
  switch (command) {
    case "serve":
      return runNode();
    case "edge":
      return runEdge();
    case "rotate":
      return runRotate(words, values);
    case "edge-file":
      return runEdgeFile(values.out);
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

async function runNode(): Promise<void> {
  const config = readConfig(process.env);
  // Most of the modules. The other commands do not load them.
  const { startNode } = await import("./node.ts");
  await untilSignal(await startNode(config));
}

async function runEdge(): Promise<void> {
  const edge = await startEdgeNode(readEdgeConfig(process.env));
  process.on("SIGHUP", () => void edge.reload());
  await untilSignal(edge);
}

async function runRotate(
  [key, step, surplus]: string[],
  options: { "leave-behind": boolean; directory?: string | undefined },
): Promise<void> {
  if (key !== "master-key" && key !== "command-key" && key !== "nats-keys") {
    throw new ConfigError('After "rotate", name a key: master-key, command-key or nats-keys.');
  }
  const isStep = step === "begin" || step === "switch" || step === "finish";
  if (key === "master-key" ? step !== undefined : !isStep || surplus !== undefined) {
    throw new ConfigError(
      key === "master-key"
        ? "rotate master-key has no steps. Run it without one."
        : `After "rotate ${key}", name one step: begin, switch or finish.`,
    );
  }
  const config = readConfig(process.env);
  const masterKeys = await readMasterKeys(config);
  await using database = openOwnDatabase(config);
  if (key === "master-key" || !isStep) {
    console.log(await rotateMasterKey(database, masterKeys));
    return;
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

main().catch((failure: unknown) => {
  const error = explainUnfit(failure);
  const { code, message } = error as { code?: unknown; message?: string };
  if (error instanceof ConfigError) {
    console.error(error.message);
    process.exit(2);
  } else if (typeof code === "string" && code.startsWith("ERR_PARSE_ARGS")) {
    // Node's own advice is about arguments that begin with "-", which no command has.
    const [sentence] = String(message).split(". To specify");
    console.error(`${sentence!.replace(/\.?$/, ".")} Run with --help to see what there is.`);
    process.exit(2);
  } else {
    console.error(error);
    process.exit(1);
  }
});
