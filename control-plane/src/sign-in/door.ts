// The requests of a browser around signing in: who sent them, what they contain, and the cookies of their answers.
import { Refusal, formatId, type Action } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { z } from "zod";
import { staleSignIn } from "../dispatch/fresh-sign-in.ts";
import { validate } from "../dispatch/validate.ts";
import type { Log } from "../log.ts";
import { objectionTo, personIn } from "../transports/credentials.ts";
import { answerHost } from "../transports/host-routes.ts";
import { readJsonBody } from "../transports/json-body.ts";
import { readCookie, sessionCookie, sessionCookieOf, type KnownBrowsers } from "./cookies.ts";
import { refuseOtherPerson } from "./other-person.ts";
import { signInPath } from "./requests.ts";
import type { SignInRequest } from "./sign-in-request.ts";
import { providerSignInDays, signInDays, type SignIns } from "./sign-ins.ts";
import type { PersonRow } from "./store.ts";

const largestBody = 64 * 1024;

export interface Door {
  get(path: string, work: (c: Context) => Promise<object>): void;
  post<Body extends z.ZodObject>(
    request: SignInRequest<Body>,
    work: (c: Context, input: z.output<Body>) => Promise<object>,
  ): void;
  /** A request of a program: it may come from anywhere, and its cookies do not count. */
  program<Body extends z.ZodObject>(
    request: SignInRequest<Body>,
    work: (c: Context, input: z.output<Body>) => Promise<object>,
  ): void;
  /**
   * The person who is signed in with this browser; undefined if the browser has no sign-in. Throws `other_person` if
   * the page belongs to somebody else.
   */
  findPerson(c: Context): Promise<PersonRow | undefined>;
  /** The same; throws `unauthenticated` if the browser has no sign-in. */
  personOf(c: Context): Promise<PersonRow>;
  /** The same; throws `sign_in_again` if the sign-in is not fresh. */
  freshPersonOf(c: Context): Promise<PersonRow>;
  /** The person whose account is signed in. Throws `forbidden` if the provider of an organization has signed them in. */
  accountOf(c: Context): Promise<PersonRow>;
  /** The same; throws `sign_in_again` if the sign-in is not fresh. */
  freshAccountOf(c: Context): Promise<PersonRow>;
  /** Gives the browser a new sign-in, and ends the one that it had: an id from before is never taken over. */
  enter(c: Context, userId: string, token: string): Promise<{ userId: string }>;
  /** The same with a provider's sign-in. It does not make the browser known to the person's account. */
  enterOrganization(c: Context, token: string): Promise<void>;
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
/** The address that has connected: behind a proxy, that of the proxy. */
export const addressOf = (c: Context) =>
  (c.env as HttpBindings).incoming.socket.remoteAddress ?? "";

export function createDoor({ app, signIns, known, baseUrl, log }: DoorParts): Door {
  const { origin } = new URL(baseUrl);

  async function findPerson(c: Context): Promise<PersonRow | undefined> {
    const person = await signIns.personOf(tokenOf(c));
    refuseOtherPerson(personIn(c), person?.user_id);
    return person;
  }

  async function personOf(c: Context): Promise<PersonRow> {
    const person = await findPerson(c);
    if (person) return person;
    throw new Refusal("unauthenticated", "You are not signed in. Sign in first.");
  }

  async function accountOf(c: Context): Promise<PersonRow> {
    const person = await personOf(c);
    if (person.organization_id === null) return person;
    throw new Refusal(
      "forbidden",
      "The provider of an organization has signed you in. This is about your account: sign in with your password or a passkey.",
    );
  }

  async function setSession(c: Context, token: string, days: number): Promise<void> {
    const former = tokenOf(c);
    if (former !== undefined) await signIns.end(former);
    c.header("Set-Cookie", sessionCookieOf(token, days), { append: true });
  }

  function answer(c: Context, work: () => Promise<object>): Promise<Response> {
    // An address with an invitation must not reach other sites.
    c.header("Referrer-Policy", "no-referrer");
    return answerHost(c, log, async () => c.json(await work()));
  }

  function refuseOtherSites(c: Context): void {
    const objection = objectionTo(c, origin);
    if (objection) throw objection;
  }

  async function inputOf(c: Context, { body }: SignInRequest): Promise<never> {
    if (c.req.header("content-type")?.split(";")[0] !== "application/json") {
      throw new Refusal("forbidden", "Send the body as application/json.");
    }
    const read = await readJsonBody(c.env as HttpBindings, { largest: largestBody });
    return validate({ input: body } as unknown as Action, read) as never;
  }

  return {
    get(path, work) {
      app.get(`${signInPath}${path}`, (c) =>
        answer(c, () => {
          refuseOtherSites(c);
          return work(c);
        }),
      );
    },
    post(request, work) {
      app.post(`${signInPath}${request.path}`, (c) =>
        answer(c, async () => {
          refuseOtherSites(c);
          return work(c, await inputOf(c, request));
        }),
      );
    },
    program(request, work) {
      app.post(`${signInPath}${request.path}`, (c) =>
        answer(c, async () => work(c, await inputOf(c, request))),
      );
    },
    findPerson,
    personOf,
    freshPersonOf: async (c) => fresh(await personOf(c)),
    accountOf,
    freshAccountOf: async (c) => fresh(await accountOf(c)),
    async enter(c, userId, token) {
      await setSession(c, token, signInDays);
      c.header("Set-Cookie", known.cookieOf(userId), { append: true });
      return { userId: formatId("user", userId) };
    },
    enterOrganization: (c, token) => setSession(c, token, providerSignInDays),
  };
}

function fresh(person: PersonRow): PersonRow {
  const refusal = staleSignIn(person.authenticated_for_ms);
  if (refusal) throw refusal;
  return person;
}
