// The requests of a browser around signing in: who sent them, what they contain, and the cookies of their answers.
import { Refusal, formatId, type Action } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { z } from "zod";
import { staleSignIn } from "../dispatch/fresh-sign-in.ts";
import { validate } from "../dispatch/validate.ts";
import type { Log } from "../log.ts";
import { objectionTo } from "../transports/credentials.ts";
import { answerHost } from "../transports/host-routes.ts";
import { readJsonBody } from "../transports/json-body.ts";
import { readCookie, sessionCookie, sessionCookieOf, type KnownBrowsers } from "./cookies.ts";
import { signInPath, type SignInRequest } from "./requests.ts";
import { signInDays, type SignIns } from "./sign-ins.ts";
import type { PersonRow } from "./store.ts";

const largestBody = 64 * 1024;

export interface Door {
  get(path: string, work: (c: Context) => Promise<object>): void;
  post<Body extends z.ZodObject>(
    request: SignInRequest<Body>,
    work: (c: Context, input: z.output<Body>) => Promise<object>,
  ): void;
  /** The person who is signed in with this browser. Throws `unauthenticated` if the browser has no sign-in. */
  personOf(c: Context): Promise<PersonRow>;
  /** The same; throws `sign_in_again` if the sign-in is not fresh. */
  freshPersonOf(c: Context): Promise<PersonRow>;
  /** Gives the browser a new sign-in, and ends the one that it had: an id from before is never taken over. */
  enter(c: Context, userId: string, token: string): Promise<{ userId: string }>;
}

interface DoorParts {
  app: Hono;
  signIns: SignIns;
  known: KnownBrowsers;
  baseUrl: string;
  log: Log;
}

export const tokenOf = (c: Context) => readCookie(c.req.header("cookie"), sessionCookie);
export const deviceOf = (c: Context) => c.req.header("user-agent");

export function createDoor({ app, signIns, known, baseUrl, log }: DoorParts): Door {
  const { origin } = new URL(baseUrl);

  async function personOf(c: Context): Promise<PersonRow> {
    const person = await signIns.personOf(tokenOf(c));
    if (person) return person;
    throw new Refusal("unauthenticated", "You are not signed in. Sign in first.");
  }

  function answer(c: Context, work: () => Promise<object>): Promise<Response> {
    // An address with an invitation must not reach other sites.
    c.header("Referrer-Policy", "no-referrer");
    return answerHost(c, log, async () => {
      const objection = objectionTo(c, origin);
      if (objection) throw objection;
      return c.json(await work());
    });
  }

  return {
    get: (path, work) => void app.get(`${signInPath}${path}`, (c) => answer(c, () => work(c))),
    post({ path, body }, work) {
      app.post(`${signInPath}${path}`, (c) =>
        answer(c, async () => {
          if (c.req.header("content-type")?.split(";")[0] !== "application/json") {
            throw new Refusal("forbidden", "Send the body as application/json.");
          }
          const read = await readJsonBody(c.env as HttpBindings, { largest: largestBody });
          return work(c, validate({ input: body } as unknown as Action, read) as never);
        }),
      );
    },
    personOf,
    async freshPersonOf(c) {
      const person = await personOf(c);
      const refusal = staleSignIn(person.authenticated_for_ms);
      if (refusal) throw refusal;
      return person;
    },
    async enter(c, userId, token) {
      const former = tokenOf(c);
      if (former !== undefined) await signIns.end(former);
      c.header("Set-Cookie", sessionCookieOf(token, signInDays), { append: true });
      c.header("Set-Cookie", known.cookieOf(userId), { append: true });
      return { userId: formatId("user", userId) };
    },
  };
}
