// Requests to the opencode server. Each request has a deadline, because the server never answers one that
// it receives before it is ready. Each answer's content type is checked, because the server answers an
// unknown path with a web page.

export interface Api {
  /** Returns the answer's body, undefined if it is empty. Throws ApiError. */
  request(method: string, path: string, details?: Details): Promise<unknown>;
  /** Returns the answer's body as a stream. Throws ApiError. */
  open(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
}

interface Details {
  /** The server keeps separate state for each directory; this selects one. */
  directory?: string | undefined;
  body?: unknown;
  deadlineMs?: number;
  signal?: AbortSignal;
}

export class ApiError extends Error {
  /** HTTP status; 0 if there was no answer. */
  status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

export function createApi(port: number, password: string): Api {
  const base = `http://127.0.0.1:${port}`;
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
  return {
    async request(method, path, { directory, body, deadlineMs = 20_000, signal } = {}) {
      const url = new URL(path, base);
      if (directory !== undefined) url.searchParams.set("directory", directory);
      const deadline = AbortSignal.timeout(deadlineMs);
      const headers: Record<string, string> = { authorization };
      if (body !== undefined) headers["content-type"] = "application/json";
      try {
        const response = await fetch(url, {
          method,
          headers,
          signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        if (response.status === 204) return undefined;
        const type = response.headers.get("content-type") ?? "";
        if (!type.includes("json")) {
          throw new ApiError(response.status, `opencode answered ${method} ${path} with ${type}.`);
        }
        const answer = JSON.parse(text) as unknown;
        if (!response.ok) throw new ApiError(response.status, messageIn(answer, response.status));
        return answer;
      } catch (error) {
        if (error instanceof ApiError) throw error;
        const problem = error instanceof Error ? error.message : String(error);
        throw new ApiError(0, `opencode did not answer ${method} ${path}: ${problem}`, {
          cause: error,
        });
      }
    },
    async open(path, signal) {
      const response = await fetch(new URL(path, base), { headers: { authorization }, signal });
      const type = response.headers.get("content-type") ?? "";
      if (!response.ok || !type.includes("event-stream") || !response.body) {
        throw new ApiError(response.status, `opencode answered ${path} with ${type}.`);
      }
      return response.body;
    },
  };
}

/** opencode has two error formats, with the message in different places. */
function messageIn(answer: unknown, status: number): string {
  const { message, data } = (answer ?? {}) as { message?: string; data?: { message?: string } };
  return data?.message ?? message ?? `opencode answered with status ${status}.`;
}
