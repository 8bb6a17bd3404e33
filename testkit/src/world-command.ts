// `npm run world`: the whole product, running until it is stopped. With --json it prints one line that
// another program can read; otherwise it prints what to try. `npm run dev` is the same world on fixed
// ports, restarted when a source file changes.
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import { isPortFree } from "./free-port.ts";
import {
  WrongArgument,
  readWorldArguments,
  readWorldSettings,
  worldUsage,
} from "./world-arguments.ts";
import { startWorld, type World } from "./world.ts";

const devPort = 8080;

try {
  await main();
} catch (error) {
  if (!(error instanceof WrongArgument)) throw error;
  process.stderr.write(`${error.message}\n\n${worldUsage}`);
  process.exitCode = 2;
}

async function main(): Promise<void> {
  const { json, dev, help, ...parts } = readWorldArguments(process.argv.slice(2));
  if (help) return void process.stdout.write(worldUsage);
  if (dev) await refuseTakenPorts();
  const stopped = new Promise((resolve) => {
    process.once("SIGTERM", resolve);
    process.once("SIGINT", resolve);
  });
  const say = (line: string) => void (json || process.stderr.write(`${line}\n`));
  {
    await using world = await startWorld({
      nodes: parts.nodes,
      hosts: parts.hosts,
      agents: parts.kinds,
      nats: parts.nats,
      releases: true,
      environment: readWorldSettings(process.env),
      say,
      ...(dev && { port: devPort, reload: true }),
    });
    const text = json ? `${JSON.stringify(describe(world))}\n` : introduce(world, parts.kinds);
    process.stdout.write(text);
    await stopped;
    say("Stopping, and removing everything that the world made …");
  }
  say("Stopped.");
}

/** A second `npm run dev` would otherwise fail late, in the words of PostgreSQL. */
async function refuseTakenPorts(): Promise<void> {
  for (const port of [devPort, devPort + 1]) {
    if (await isPortFree(port)) continue;
    throw new WrongArgument(
      `Port ${port} is in use, perhaps by another "npm run dev". Stop the program that uses it, or use "npm run world", which finds free ports.`,
    );
  }
}

function describe({ baseUrl, organizations, nodes, hosts, nats, database, model }: World) {
  return {
    baseUrl,
    organizations: organizations.map(({ organizationId, keys }) => ({ organizationId, keys })),
    databaseUrl: database.url,
    hosts: hosts.map(({ instanceId, pid, root, repository, stateDirectory }) => ({
      instanceId,
      pid,
      root,
      repository,
      policyPath: join(stateDirectory, "policy"),
    })),
    pids: {
      world: process.pid,
      ...(database.postgresPid && { postgres: database.postgresPid }),
      nodes: nodes.map(({ pid }) => pid),
      nats: nats?.servers.map(({ pid }) => pid) ?? [],
      hosts: hosts.map(({ pid }) => pid),
    },
    modelUrl: model?.url ?? null,
  };
}

function introduce(world: World, kinds: readonly AgentKind[]): string {
  const { baseUrl, organizations, hosts, database, model } = world;
  const { owner } = organizations[0].keys;
  const policies = hosts.map(
    ({ stateDirectory }) =>
      `  # the host's policy file: what the service may do there. Edit it at any time\n  cat ${join(stateDirectory, "policy")}\n`,
  );
  return `
Hawser is running at ${baseUrl}. Try it:

  export HAWSER_URL=${baseUrl}
  export HAWSER_KEY=${owner}

  # what this key may do
  curl -s ${baseUrl}/api/rest/actions -H "Authorization: Bearer $HAWSER_KEY"

  # the host that is paired with it${hosts[0] ? ` (its daemon is process ${hosts[0].pid}; stop it with kill -STOP, list the instances again, and continue it with kill -CONT)` : ""}
  curl -s ${baseUrl}/api/rest/actions/list_instances -H "Authorization: Bearer $HAWSER_KEY" \\
    -H 'Content-Type: application/json' -d '{}'

${policies.join("")}
  # the database
  psql '${database.url}'

${model ? agentsText(model.url, kinds) : ""}  # register another host; run its installCommand as a user other than root.
  # ~/.hawser/bin/hawserd uninstall removes it again
  curl -s ${baseUrl}/api/rest/actions/create_instance -H "Authorization: Bearer $HAWSER_KEY" \\
    -H 'Content-Type: application/json' -d '{"name":"my host"}'

  # the same actions as MCP tools: ${baseUrl}/api/mcp, with the same key

Ctrl-C stops it and removes everything it made.
`;
}

/** How the scripted model is used. It costs nothing and needs no account. */
function agentsText(modelUrl: string, kinds: readonly AgentKind[]): string {
  const tools: Record<AgentKind, string> = {
    opencode: '{"tool":"bash","input":{"command":"ls"}}',
    claude_code: '{"tool":"Bash","input":{"command":"ls"}}',
    codex: '{"tool":"exec_command","input":{"cmd":"ls"}}',
  };
  const prompts = kinds.map(
    (kind) => `  #   ${kind}: fix it @@[{"calls":[${tools[kind]}]},{"text":"Done."}]`,
  );
  return `  # the host has the real ${kinds.join(", ")}. Their model is scripted, at ${modelUrl}: it
  # answers any prompt with a sentence. If a prompt ends with a script, the model plays the script:
${prompts.join("\n")}

`;
}
