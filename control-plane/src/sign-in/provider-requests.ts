// Requests to a provider, as openid-client makes them: each to an address that was resolved once and checked, on a
// connection of its own. Redirects are not followed, and an answer has a largest size.
import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import type { TcpSocketConnectOpts } from "node:net";
import type { CustomFetch } from "openid-client";
import {
  AddressNotAllowed,
  NameNotFound,
  type Address,
  type Addresses,
} from "../webhooks/addresses.ts";
import { ProviderRefusal } from "./provider-refusal.ts";

const largestAnswer = 1_048_576;
/** Interim answers, such as 103, that a provider may send before its answer. */
const mostInterim = 10;
/** How long one of a name's addresses is tried before the next. */
const connectMs = 2_000;

/** Throws only ProviderRefusal. `signal` ends all requests of one operation. */
export function fetchFrom(addresses: Addresses, signal: AbortSignal): CustomFetch {
  return async (address, { method, headers, body }) => {
    try {
      const url = new URL(address);
      const found = await addresses.find(url, signal);
      // The client sends only forms.
      const form = body instanceof URLSearchParams ? body.toString() : "";
      return await exchange(url, found, form, { method, headers, signal });
    } catch (error) {
      if (error instanceof ProviderRefusal) throw error;
      if (error instanceof AddressNotAllowed) throw new ProviderRefusal("address_not_allowed");
      if (signal.aborted) throw new ProviderRefusal("unreachable", "timeout");
      if (error instanceof NameNotFound) throw new ProviderRefusal("unreachable", "name_not_found");
      throw new ProviderRefusal("unreachable", (error as { code?: unknown }).code);
    }
  };
}

async function exchange(
  url: URL,
  found: Address[],
  form: string,
  { headers, ...options }: RequestOptions,
): Promise<Response> {
  const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
    ...options,
    headers: {
      ...headers,
      "accept-encoding": "identity",
      ...(form && { "content-length": Buffer.byteLength(form) }),
    },
    ...connectionTo(found),
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on("response", resolve);
  // An error after the answer has begun also ends the loop below; without a listener it would end the process.
  request.on("error", reject);
  // An upgrade that nobody asked for closes the connection without an error.
  request.on("close", () => reject(new Error("No answer.")));
  let interim = 0;
  request.on("information", () => {
    if (++interim > mostInterim) request.destroy(new Error("Too many interim answers."));
  });
  request.end(form);
  const answer = await promise;
  const status = answer.statusCode!;
  const parts: Buffer[] = [];
  let size = 0;
  // Leaving the loop closes the connection.
  for await (const part of answer as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > largestAnswer) throw new ProviderRefusal("answer_unreadable", "too large");
    parts.push(part);
  }
  if (status >= 500 || status === 429) throw new ProviderRefusal("unreachable", `status ${status}`);
  if (status >= 300 && status < 400) throw new ProviderRefusal("answer_unreadable", "redirected");
  return new Response(size === 0 ? null : Buffer.concat(parts), {
    status,
    headers: headersOf(answer),
  });
}

/** Node does not look up an address that is a number; that one was checked as it is. */
function connectionTo(found: Address[]): RequestOptions & Partial<TcpSocketConnectOpts> {
  return {
    agent: false,
    autoSelectFamilyAttemptTimeout: connectMs,
    lookup: (_name, { all }, callback) =>
      all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family),
  };
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  return headers;
}
