// A model endpoint on loopback that plays scripts. Real agents use it in tests and in the demo world. It
// implements the protocol of each agent; the prompt contains the script.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { anthropicMessages } from "./anthropic-messages.ts";
import { chooseStep, type Choice, type Failures } from "./choose-step.ts";
import type { Answer, Conversation, Dialect, Message, Protocol } from "./dialect.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";

const dialects: Dialect[] = [openaiChat, anthropicMessages, openaiResponses];

export interface ModelRequest {
  at: number;
  protocol: Protocol;
  model: string;
  messages: Message[];
  tools: string[];
  /** The header Authorization, or else the key of the header x-api-key. */
  authorization: string | undefined;
  /** The header x-api-key. */
  apiKey: string | undefined;
  /** The user's last text. */
  prompt: string;
  kind: Choice["kind"];
  /** Which step of the script was played; 0 is the start of a turn. */
  step: number;
  /** The request as it came. */
  body: Record<string, unknown>;
  /** left: the agent closed the connection before the end. */
  outcome: "running" | "answered" | "refused" | "cut" | "left";
}

export interface ScriptedModel extends AsyncDisposable {
  /** Without `/v1`. */
  url: string;
  /** The requests, in order. */
  requests: ModelRequest[];
}

export async function startScriptedModel(): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  const failures: Failures = new Map();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://model");
    const dialect = dialects.find(({ path }) => path === pathname);
    if (request.method !== "POST" || !dialect) return serveRest(request, response, pathname);
    const body = await readBody(request);
    const conversation = dialect.read(body);
    let choice: Choice;
    try {
      choice = chooseStep(conversation, failures);
    } catch (error) {
      const message = `The prompt's script is not JSON: ${(error as Error).message}`;
      return sendJson(response, 400, dialect.error(400, message));
    }
    const asked = noteRequest(request, body, dialect, conversation, choice);
    requests.push(asked);
    const left = new AbortController();
    response.on("close", () => left.abort());
    try {
      asked.outcome = await answer(response, dialect, asked, choice, left.signal);
    } catch (error) {
      asked.outcome = "left";
      if (!left.signal.aborted) throw error;
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error) } });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  response: ServerResponse,
  dialect: Dialect,
  { model, body }: ModelRequest,
  { step, answered }: Choice,
  left: AbortSignal,
): Promise<ModelRequest["outcome"]> {
  if (step.delayMs) await sleep(step.delayMs, undefined, { signal: left });
  if (step.status) {
    const { retryAfterSeconds, headers: own = {} } = step;
    const headers = { ...own, ...(retryAfterSeconds && { "retry-after": retryAfterSeconds }) };
    const type = step.errorType;
    const message = `The script answers with ${step.status}${type ? `, ${type}` : ""}.`;
    sendJson(response, step.status, dialect.error(step.status, message, type), headers);
    return "refused";
  }
  const said: Answer = {
    model,
    answered,
    reasoning: step.reasoning ?? "",
    text: step.text ?? "",
    calls: step.calls ?? [],
    usage: { input: 1000, output: 50, cached: 0, reasoning: 0, ...step.usage },
    cut: step.cut ?? false,
    async *words(text) {
      for (const [place, word] of (text.match(/\s*\S+\s*/g) ?? []).entries()) {
        if (place > 0 && step.paceMs) await sleep(step.paceMs, undefined, { signal: left });
        left.throwIfAborted();
        yield word;
      }
    },
  };
  if (body.stream !== true) {
    if (said.cut) response.destroy();
    else sendJson(response, 200, dialect.whole(said));
    return said.cut ? "cut" : "answered";
  }
  const streamed = { "content-type": "text/event-stream", "cache-control": "no-cache" };
  response.writeHead(200, { ...step.headers, ...streamed });
  for await (const frame of dialect.stream(said)) {
    // Flushed, so that the agent receives everything that was sent before a cut.
    await new Promise((resolve) => response.write(frame, resolve));
  }
  if (said.cut) response.destroy();
  else response.end();
  return said.cut ? "cut" : "answered";
}

function noteRequest(
  request: IncomingMessage,
  body: Record<string, unknown>,
  { protocol }: Dialect,
  { messages, tools }: Conversation,
  { prompt, kind, index }: Choice,
): ModelRequest {
  const { authorization, "x-api-key": keys } = request.headers;
  const apiKey = Array.isArray(keys) ? keys[0] : keys;
  return {
    at: Date.now(),
    protocol,
    model: typeof body.model === "string" ? body.model : "",
    messages,
    tools,
    authorization: authorization ?? apiKey,
    apiKey,
    prompt,
    kind,
    step: index,
    body,
    outcome: "running",
  };
}

/** Other requests of agents: whether the endpoint is up, and which models it has. */
function serveRest(request: IncomingMessage, response: ServerResponse, path: string): void {
  request.resume();
  if (request.method === "HEAD") return void response.writeHead(200).end();
  if (request.method === "GET" && path === "/v1/models") {
    const data = ["stub-1", "stub-small"].map((id) => ({ id, object: "model", type: "model" }));
    return sendJson(response, 200, { object: "list", data, has_more: false });
  }
  if (request.method === "POST" && path === "/v1/messages/count_tokens") {
    return sendJson(response, 200, { input_tokens: 1000 });
  }
  sendJson(response, 404, { error: { message: `There is nothing at ${path}.` } });
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>;
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string | number> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}
