// A small MCP server that agents start themselves: its one tool, `plain`, notes each call in a file.
import { writeFileSync } from "node:fs";

/** Writes the program; run it with Node. */
export function writeMcpServer(path: string, calledFile: string): void {
  writeFileSync(
    path,
    `import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const tool = { name: "plain", description: "Notes a call", inputSchema: { type: "object", properties: {} } };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const { protocolVersion } = params ?? {};
  const serverInfo = { name: "notes", version: "1.0.0" };
  const results = {
    initialize: () => ({ protocolVersion, capabilities: { tools: {} }, serverInfo }),
    "tools/list": () => ({ tools: [tool] }),
    "tools/call": () => {
      appendFileSync(${JSON.stringify(calledFile)}, "called\\n");
      return { content: [{ type: "text", text: "Noted." }] };
    },
  };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method]?.() ?? {} }));
}
`,
  );
}
