// `npm run world`: the whole product, running until it is told to stop. With --json it prints one
// line that another program can read; without, it says how to try it. `npm run dev` is the same
// world on fixed ports, restarted when a source file changes.
import { parseArgs } from "node:util";
import { startWorld, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    dev: { type: "boolean", default: false },
    nodes: { type: "string", default: "1" },
  },
});

const stopped = new Promise((resolve) => {
  process.once("SIGTERM", resolve);
  process.once("SIGINT", resolve);
});

if (!values.json) process.stderr.write("Starting PostgreSQL and the control plane …\n");
{
  await using world = await startWorld({
    nodes: Number(values.nodes),
    ...(values.dev && { port: 8080, reload: true }),
  });
  process.stdout.write(values.json ? `${JSON.stringify(describe(world))}\n` : introduce(world));
  await stopped;
  if (!values.json) process.stderr.write("Stopping; everything it made is removed.\n");
}

function describe({ baseUrl, organizations, nodes, database }: World) {
  return {
    baseUrl,
    organizations: organizations.map(({ organizationId, keys }) => ({ organizationId, keys })),
    hosts: [],
    pids: {
      world: process.pid,
      ...(database.postgresPid && { postgres: database.postgresPid }),
      nodes: nodes.map(({ pid }) => pid),
    },
  };
}

function introduce({ baseUrl, organizations }: World): string {
  const { owner } = organizations[0].keys;
  return `
Hawser is running at ${baseUrl}. Try it:

  export HAWSER_KEY=${owner}

  # what this key may do
  curl -s ${baseUrl}/api/rest/actions -H "Authorization: Bearer $HAWSER_KEY"

  # register a host
  curl -s ${baseUrl}/api/rest/actions/create_instance -H "Authorization: Bearer $HAWSER_KEY" \\
    -H 'Content-Type: application/json' -d '{"name":"build box"}'

  # the same actions as MCP tools: ${baseUrl}/api/mcp, with the same key

Ctrl-C stops it and removes everything it made.
`;
}
