// A real MCP client with a key. Its requests count as requests of the scenario.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { registry } from "@hawser/contract";
import { requestCounter } from "@hawser/testkit/caller.ts";

interface McpOptions {
  query?: string;
  headers?: Record<string, string>;
  /** Which protocol the client speaks: that of 2026, or an earlier one. */
  era?: "modern" | "legacy";
}

/** Selects every group, also those that are offered on request. */
export const allToolsets = `?toolsets=${[...new Set(Object.values(registry).map(({ group }) => group))].join(",")}`;

export async function connectMcp(
  baseUrl: string,
  key: string,
  { query = "", headers = {}, era = "modern" }: McpOptions = {},
): Promise<Client & AsyncDisposable> {
  const transport = new StreamableHTTPClientTransport(new URL(`/api/mcp${query}`, baseUrl), {
    requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } },
    fetch: countedFetch,
  });
  const client = new Client(
    { name: "acceptance", version: "1.0.0" },
    { versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" } },
  );
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

async function countedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const counted = requestCounter.getStore();
  if (!counted) return response;
  counted.requests += 1;
  const { status, headers } = response;
  // The answer to a POST ends. A stream that the client keeps open does not, so it is not awaited.
  if (init?.method !== "POST") return response;
  const text = await response.clone().text();
  const { pathname: path } = new URL(url);
  counted.replies.push({ path, status, headers, text, body: messageIn(text) });
  return response;
}

/** The message of an answer, which is JSON or the only event of a stream. */
function messageIn(text: string): unknown {
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return json === "" ? undefined : (JSON.parse(json) as unknown);
}

/** The names of all tools this client is offered. */
export async function toolNames(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).sort();
}
