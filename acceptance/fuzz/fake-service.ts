// A service with one action that answers every case as its label says, except for one optional fault. It
// shows that the fuzzer accepts right answers and notices wrong ones.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Refusal, errorBody, type RefusalCode } from "@hawser/contract";
import { openClient } from "./client.ts";
import { labelOf } from "./label.ts";
import type { Target } from "./run.ts";
import type { ActionShape } from "./shape.ts";

export type Fault =
  | "fails"
  | "accepts everything"
  | "refuses everything"
  | "shows a stack"
  | "writes before it refuses"
  | "has other errors"
  | "answers in plain text"
  | "hangs up"
  | "logs a fault";

export async function startFakeService(
  action: ActionShape,
  fault?: Fault,
): Promise<Target & AsyncDisposable> {
  let rows = 0;
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = openClient(`http://127.0.0.1:${port}`, "key");
  return {
    client,
    known: { instanceId: "ins_00000000000000000000000000" },
    fingerprint: async () => new Map([["rows", String(rows)]]),
    complaints: async () => (fault === "logs a fault" ? ["it logged a fault"] : []),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const contentEncoding = request.headers["content-encoding"];
    const contentType = request.headers["content-type"];
    const { verdict, status = 400 } = labelOf(action, {
      contentType,
      ...(contentEncoding !== undefined && { contentEncoding }),
      body,
    });
    const right = verdict === "accept" ? 200 : status;
    const { status: given, text } = spoil(right, body);
    if (fault === "hangs up" && body.includes("x")) return void request.socket.destroy();
    const type = fault === "answers in plain text" ? "text/plain" : "application/json";
    response.writeHead(given, { "content-type": type }).end(text);
  }

  function spoil(right: number, body: Buffer): { status: number; text: string } {
    const refusal = (code: RefusalCode, message = "No.") =>
      JSON.stringify(errorBody(new Refusal(code, message), "call"));
    const refused = refusal(right === 413 ? "payload_too_large" : "invalid_input");
    const ok = { status: 200, text: '{"result":{}}' };
    if (fault === "fails" && right === 200) return { status: 500, text: refusal("internal") };
    if (fault === "accepts everything") return ok;
    if (fault === "refuses everything") return { status: 400, text: refusal("invalid_input") };
    if (fault === "shows a stack" && right === 400) {
      const stack = "Error: no\n    at validate (validate.ts:7:1)";
      return { status: 400, text: refusal("invalid_input", stack) };
    }
    if (fault === "writes before it refuses" && right === 400 && body.includes("null")) rows++;
    if (fault === "has other errors" && right === 400)
      return { status: 400, text: '{"error":"no"}' };
    return right === 200 ? ok : { status: right, text: refused };
  }
}
