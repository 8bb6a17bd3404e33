// People who sign in. The open streams of an ended sign-in end on every node; and a flood of guessed passwords lets
// nobody in, shuts nobody out, and does not slow others down.
import assert from "node:assert/strict";
import { openTestBrowser, type TestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import type { World } from "@hawser/testkit/world.ts";
import { atMost, reported, type Figure } from "./figure.ts";
import { openScaleWorld, say } from "./stage.ts";

const password = "correct horse battery";

interface SignInsSize {
  trials: number;
  /** Open streams at each of three nodes. */
  streams: number;
}

export const signInsSizes: Record<"large" | "small", SignInsSize> = {
  large: { trials: 100, streams: 67 },
  small: { trials: 1, streams: 5 },
};

export async function measureSignIns({ trials, streams }: SignInsSize): Promise<Figure[]> {
  await using world = await openScaleWorld({ nodes: 3 });
  const tookMs: number[] = [];
  for (let trial = 0; trial < trials; trial++) {
    const person = await join(world, `person${trial}@acme.example`);
    const open = await openStreams(world, person.browser, streams);
    const since = performance.now();
    await endings[trial % endings.length]!(world, person);
    tookMs.push(Math.max(...(await Promise.all(open))) - since);
    if ((trial + 1) % 10 === 0) say(`  ${trial + 1} of ${trials} sign-ins ended`);
  }
  const late = tookMs.filter((ms) => ms > 5_000).length;
  return [
    atMost("sign_ins_late_trials", late, 0),
    atMost("sign_ins_last_stream_ms", Math.max(...tookMs), 5_000),
    reported("sign_ins_open_streams", streams * 3),
  ];
}

interface Person {
  browser: TestBrowser;
  userId: string;
}

/** How a sign-in ends, in turn. */
const endings: ((world: World, person: Person) => Promise<unknown>)[] = [
  ({ caller }, { userId }) => caller.remove_member({ userId }),
  ({ caller }, { userId }) => caller.update_member({ userId, role: "viewer" }),
  (_world, { browser }) => browser.send("/api/sign-in/out", {}),
];

/** A browser in which a new member has accepted an invitation. */
async function join({ caller, baseUrl }: World, email: string): Promise<Person> {
  const { url } = await caller.create_invitation({ email, role: "member" });
  const browser = openTestBrowser(baseUrl);
  const invitation = new URL(url).hash.slice(1);
  const reply = await browser.send("/api/sign-in/invitations/accept", { invitation, password });
  assert.equal(reply.status, 200);
  return { browser, userId: reply.body["userId"] as string };
}

/** Opens streams at every node. Returns when each of them ends, by performance.now(). */
async function openStreams(
  { nodes, organizations }: World,
  { cookies }: TestBrowser,
  count: number,
): Promise<Promise<number>[]> {
  const opened = await Promise.all(
    nodes.flatMap(({ baseUrl }) => {
      const headers = openTestBrowser(baseUrl, cookies).headersFor(organizations[0].organizationId);
      return Array.from({ length: count }, () => fetch(`${baseUrl}/api/events`, { headers }));
    }),
  );
  for (const { status } of opened) assert.equal(status, 200);
  return opened.map(async ({ body }) => {
    for await (const _piece of body!) void _piece;
    return performance.now();
  });
}

interface GuessesSize {
  guesses: number;
}

export const guessesSizes: Record<"large" | "small", GuessesSize> = {
  large: { guesses: 100_000 },
  small: { guesses: 200 },
};

/** Guesses that are sent at the same time. */
const atOnce = 200;
/** Calls of a key, before the flood and during it. */
const calls = 200;

export async function measureGuesses({ guesses }: GuessesSize): Promise<Figure[]> {
  await using world = await openScaleWorld();
  const email = "person@acme.example";
  const { browser } = await join(world, email);
  const quietMs = await medianOfCalls(world);
  let sent = 0;
  let letIn = 0;
  const guess = async () => {
    while (sent < guesses) {
      const number = sent++;
      // Every second guess is for an address that has no account.
      const address = number % 2 === 0 ? email : `nobody${number % 20_000}@acme.example`;
      const reply = await openTestBrowser(world.baseUrl).send("/api/sign-in/password", {
        email: address,
        password: `guess number ${number}`,
      });
      if (reply.status === 200) letIn += 1;
    }
  };
  const flood = Promise.all(Array.from({ length: atOnce }, guess));
  const busyMs = await medianOfCalls(world);
  let shutOut = 0;
  const ownMs: number[] = [];
  for (let i = 0; i < 20; i++) {
    const since = performance.now();
    const reply = await browser.send("/api/sign-in/password", { email, password });
    ownMs.push(performance.now() - since);
    if (reply.status !== 200) shutOut += 1;
  }
  await flood;
  return [
    atMost("guesses_let_in", letIn, 0),
    atMost("guesses_own_browser_refused", shutOut, 0),
    reported("guesses_own_sign_in_ms", Math.max(...ownMs)),
    atMost("guesses_latency_ratio", busyMs / quietMs, 2),
  ];
}

async function medianOfCalls({ caller }: World): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < calls; i++) {
    const since = performance.now();
    await caller.whoami({});
    took.push(performance.now() - since);
  }
  return took.sort((one, other) => one - other)[calls / 2]!;
}
