// `npm run world`: the whole product, running until it is stopped. With --json it prints one line that
// another program can read; otherwise it prints what to try. `npm run dev` is the same world on fixed
// ports, restarted when a source file changes.
import { parseArgs } from "node:util";
import { AgentKind } from "@hawser/contract";
import { hasAgentProgram } from "./agent-programs.ts";
import { startWorld, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    dev: { type: "boolean", default: false },
    nodes: { type: "string", default: "1" },
    hosts: { type: "string", default: "1" },
    nats: { type: "string", default: "1" },
    kinds: { type: "string" },
  },
});

const kinds = Number(values.hosts) > 0 ? chooseKinds(values.kinds) : [];
const stopped = new Promise((resolve) => {
  process.once("SIGTERM", resolve);
  process.once("SIGINT", resolve);
});

if (!values.json)
  process.stderr.write(
    `Starting PostgreSQL, NATS, the control plane and a host${kinds.length > 0 ? ` with the real ${kinds.join(", ")}` : ""} …\n`,
  );
{
  await using world = await startWorld({
    nodes: Number(values.nodes),
    hosts: Number(values.hosts),
    agents: kinds,
    nats: values.nats === "3" ? 3 : 1,
    releases: true,
    ...(values.dev && { port: 8080, reload: true }),
  });
  process.stdout.write(values.json ? `${JSON.stringify(describe(world))}\n` : introduce(world));
  await stopped;
  if (!values.json) process.stderr.write("Stopping; everything it made is removed.\n");
}

/** Without --kinds, the agents whose packages `npm run setup` has fetched. */
function chooseKinds(wanted: string | undefined): AgentKind[] {
  if (wanted === undefined) return AgentKind.options.filter(hasAgentProgram);
  return wanted.split(",").map((kind) => {
    if (AgentKind.safeParse(kind).success) return AgentKind.parse(kind);
    throw new Error(`--kinds has no "${kind}"; it takes ${AgentKind.options.join(", ")}.`);
  });
}

function describe({ baseUrl, organizations, nodes, hosts, nats, database, model }: World) {
  return {
    baseUrl,
    organizations: organizations.map(({ organizationId, keys }) => ({ organizationId, keys })),
    hosts: hosts.map(({ instanceId, pid, root, repository }) => ({
      instanceId,
      pid,
      root,
      repository,
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

function introduce({ baseUrl, organizations, hosts, model }: World): string {
  const { owner } = organizations[0].keys;
  return `
Hawser is running at ${baseUrl}. Try it:

  export HAWSER_URL=${baseUrl}
  export HAWSER_KEY=${owner}

  # what this key may do
  curl -s ${baseUrl}/api/rest/actions -H "Authorization: Bearer $HAWSER_KEY"

  # the host that is paired with it${hosts[0] ? ` (its daemon is process ${hosts[0].pid}; kill it, and look again)` : ""}
  curl -s ${baseUrl}/api/rest/actions/list_instances -H "Authorization: Bearer $HAWSER_KEY" \\
    -H 'Content-Type: application/json' -d '{}'

${model ? agentsText(model.url) : ""}  # register another host; run its installCommand on the machine that is to be the host, as a user
  # other than root. ~/.hawser/bin/hawserd uninstall removes it again
  curl -s ${baseUrl}/api/rest/actions/create_instance -H "Authorization: Bearer $HAWSER_KEY" \\
    -H 'Content-Type: application/json' -d '{"name":"my host"}'

  # the same actions as MCP tools: ${baseUrl}/api/mcp, with the same key

Ctrl-C stops it and removes everything it made.
`;
}

/** How the scripted model is used. It costs nothing and needs no account. */
function agentsText(modelUrl: string): string {
  const tools: Record<AgentKind, string> = {
    opencode: '{"tool":"bash","input":{"command":"ls"}}',
    claude_code: '{"tool":"Bash","input":{"command":"ls"}}',
    codex: '{"tool":"exec_command","input":{"cmd":"ls"}}',
  };
  const prompts = kinds.map(
    (kind) => `  #   ${kind}: fix it @@[{"calls":[${tools[kind]}]},{"text":"Done."}]`,
  );
  return `  # the host has the real ${kinds.join(", ")}; their model is a scripted one, at ${modelUrl}. It
  # answers any prompt with a line of words. If a prompt ends with a script, it plays the script:
${prompts.join("\n")}

`;
}
