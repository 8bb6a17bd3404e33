// The protocol's server, with errors that blame the right side: its library answers wrong parameters as errors of
// the server.
/* oxlint-disable typescript/no-deprecated -- the class that is not deprecated wants tools one by one, in schemas of its own */
import { errorBody, refusals, type Refusal } from "@hawser/contract";
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";

export class ModelServer extends Server {
  protected override _wrapHandler(
    method: string,
    handler: Parameters<Server["_wrapHandler"]>[1],
  ): ReturnType<Server["_wrapHandler"]> {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await wrapped(request, context);
      } catch (error) {
        throw isOfSchema(error) ? invalid(`${method}: ${issuesIn(error.message)}`) : error;
      }
    };
  }
}

export const invalid = (message: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** A refusal where the protocol has no result that could contain it. */
export function asProtocolError(refusal: Refusal, callId: string): ProtocolError {
  const { status } = refusals[refusal.code];
  const isCallers = status < 500 && status !== 429;
  const code = isCallers ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(code, refusal.message, errorBody(refusal, callId).error);
}

/** The library throws plain errors for parameters that its schemas refuse, and nothing else does. */
const isOfSchema = (error: unknown): error is Error =>
  error instanceof Error && Object.getPrototypeOf(error) === Error.prototype;

/** The first issues of a schema, which come as JSON. */
function issuesIn(text: string): string {
  try {
    const issues = JSON.parse(text) as { path: PropertyKey[]; message: string }[];
    return issues
      .slice(0, 3)
      .map(({ path, message }) => `${path.map(String).join(".").slice(0, 100)}: ${message}`)
      .join("; ");
  } catch {
    return "the parameters are not valid";
  }
}
