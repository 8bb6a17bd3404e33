#!/usr/bin/env node
// The control plane's command line. `serve` runs a node; `migrate` brings the database to this
// version; `bootstrap` makes the first organization, user and key.
import { parseArgs } from "node:util";
import { bootstrap } from "./access/bootstrap.ts";
import { ConfigError, describeSettings, readConfig } from "./config.ts";
import { startNode } from "./node.ts";
import { openDatabase } from "./postgres/database.ts";
import { migrate } from "./postgres/migrate.ts";

const usage = `usage: hawser-control-plane <command>

  serve                               run a node until SIGTERM
  migrate                             bring the database to this version
  bootstrap --organization NAME --email ADDRESS
                                      make the first organization, its owner and an API key,
                                      and print the key, once

settings, from the environment:
${describeSettings()}
`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      organization: { type: "string" },
      email: { type: "string" },
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
      return serve();
    case "migrate": {
      const ran = await migrate(readConfig(process.env).databaseUrl);
      console.log(ran.length > 0 ? `applied ${ran.join(", ")}` : "the database is up to date");
      return;
    }
    case "bootstrap":
      return runBootstrap(values.organization, values.email);
    default:
      throw new ConfigError(
        `There is no command "${command}". Run with --help to see what there is.`,
      );
  }
}

async function serve(): Promise<void> {
  const node = await startNode(readConfig(process.env));
  const signal = await new Promise<string>((resolve) => {
    process.once("SIGTERM", () => resolve("SIGTERM"));
    process.once("SIGINT", () => resolve("SIGINT"));
  });
  // A second signal means now.
  process.once(signal, () => process.exit(1));
  await node.stop();
}

async function runBootstrap(
  organization: string | undefined,
  email: string | undefined,
): Promise<void> {
  if (!organization || !email) throw new ConfigError("bootstrap needs --organization and --email.");
  const config = readConfig(process.env);
  await using database = openDatabase({
    url: config.databaseUrl,
    connections: 2,
    patienceMs: config.database.patienceMs,
    onIdleError: () => {},
  });
  const made = await bootstrap(database, organization, email);
  console.log(`organization  ${made.organizationId}`);
  console.log(`owner         ${made.userId} ${email}`);
  console.log(`API key       ${made.key}`);
  console.log("The key is not shown again. It belongs to the owner and has every permission.");
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
