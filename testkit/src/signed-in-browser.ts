// A browser as the service sees one: it keeps the cookies that it gets, and says that a page of the service sends
// its requests.
import { recordExample } from "./record-example.ts";

export interface Reply {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

export interface TestBrowser {
  /** The cookies that it has now, by their names. */
  cookies: Map<string, string>;
  /** Sends a request of the page. A header that is undefined is left out. */
  send(
    path: string,
    body?: object,
    headers?: Record<string, string | undefined>,
    method?: string,
  ): Promise<Reply>;
  /** Calls an action for an organization. */
  call(organizationId: string, action: string, input?: object): Promise<Reply>;
  /** The headers with which it opens a stream. */
  headersFor(organizationId: string): Record<string, string>;
}

export function openTestBrowser(baseUrl: string, cookies = new Map<string, string>()): TestBrowser {
  const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const own = () => ({
    origin: baseUrl,
    "sec-fetch-site": "same-origin",
    "user-agent": "TestBrowser/1",
    ...(cookies.size > 0 && { cookie: cookieHeader() }),
  });

  async function send(
    path: string,
    body?: object,
    headers: Record<string, string | undefined> = {},
    method = body === undefined ? "GET" : "POST",
  ): Promise<Reply> {
    const all = {
      ...own(),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    };
    const sent = Object.entries(all).filter(
      (each): each is [string, string] => each[1] !== undefined,
    );
    const response = await fetch(baseUrl + path, {
      method,
      headers: Object.fromEntries(sent),
      redirect: "manual",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === "") cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return {
      status: response.status,
      body: isJson ? (JSON.parse(text) as Record<string, unknown>) : { text },
      headers: response.headers,
    };
  }

  return {
    cookies,
    send,
    async call(organizationId, action, input = {}) {
      const headers = { "x-hawser-organization": organizationId };
      const reply = await send(`/api/rest/actions/${action}`, input, headers);
      if (reply.status === 200) recordExample(action, input, reply.body["result"]);
      return reply;
    },
    headersFor: (organizationId) => ({ ...own(), "x-hawser-organization": organizationId }),
  };
}
