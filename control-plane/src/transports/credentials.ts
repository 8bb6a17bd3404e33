// What a request says about its caller. A browser sends its sign-in cookie with requests that other sites cause, so
// the cookie counts only if the request shows that a page of this service made it (N24, N25).
import { Refusal, parseId } from "@hawser/contract";
import type { Context } from "hono";
import type { Credentials } from "../dispatch/caller.ts";

export type ReadCredentials = (c: Context) => Credentials;

/** For a service without sign-ins. */
export const keysOnly: ReadCredentials = (c) => ({ authorization: c.req.header("authorization") });

const organizationHeader = "x-hawser-organization";
const personHeader = "x-hawser-person";

/** The person whose page has sent the request; undefined if the request names nobody. */
export const personIn = (c: Context): string | undefined => c.req.header(personHeader);

/** `tokenOf`: the sign-in of a Cookie header; undefined if there is none. */
export function createReadCredentials(
  baseUrl: string,
  tokenOf: (cookies: string | undefined) => string | undefined,
): ReadCredentials {
  const { origin } = new URL(baseUrl);
  return (c) => {
    const authorization = c.req.header("authorization");
    if (authorization !== undefined) return { authorization };
    const token = tokenOf(c.req.header("cookie"));
    if (token === undefined) return {};
    const objection = objectionTo(c, origin);
    if (objection) return { refused: objection };
    const organizationId = parseId("organization", c.req.header(organizationHeader) ?? "");
    if (organizationId === null) {
      return {
        refused: new Refusal(
          "unauthenticated",
          "A call with a sign-in must name its organization: send X-Hawser-Organization with an id that GET /api/sign-in lists.",
        ),
      };
    }
    return { signIn: { token, organizationId, person: personIn(c) } };
  };
}

/** Why a request with a cookie is not carried out; undefined if a page of this service has made it. */
export function objectionTo(c: Context, origin: string): Refusal | undefined {
  const site = c.req.header("sec-fetch-site");
  const from = c.req.header("origin");
  const isOwn =
    (from === undefined || from === origin) &&
    (site === undefined || site === "same-origin") &&
    (from !== undefined || site !== undefined);
  if (!isOwn) {
    return new Refusal(
      "forbidden",
      "A sign-in counts only for requests from this service's own pages. Programs call with an API key.",
    );
  }
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  const isForm =
    type === undefined
      ? false
      : ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"].includes(type);
  if (c.req.method !== "GET" && isForm) {
    return new Refusal("forbidden", "A sign-in counts for no request with the body of a form.");
  }
  return undefined;
}
