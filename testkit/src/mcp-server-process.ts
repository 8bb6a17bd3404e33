// An MCP server for tests: answers on its standard streams and has one tool, `leave_mark`, which creates the
// file that it is given.
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Message {
  id?: number;
  method: string;
  params?: { protocolVersion?: string; arguments?: { path?: string } };
}

const tool = {
  name: "leave_mark",
  description: "Creates a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
};

function resultOf({ method, params }: Message): object {
  if (method === "initialize") {
    const { protocolVersion } = params!;
    const serverInfo = { name: "marks", version: "1" };
    return { protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list") return { tools: [tool] };
  if (method !== "tools/call") return {};
  writeFileSync(params!.arguments!.path!, "");
  return { content: [{ type: "text", text: "Done." }] };
}

createInterface(process.stdin).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  if (message.id === undefined) return;
  const answer = { jsonrpc: "2.0", id: message.id, result: resultOf(message) };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
