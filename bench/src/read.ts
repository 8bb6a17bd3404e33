// The group `read`: the cost of dispatcher, checks and row-level security for a read, beside the same
// statement without them, and whether a listing stays fast when the table grows.
import assert from "node:assert/strict";
import { openTestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import type { World } from "@hawser/testkit/world.ts";
import { figureOf, type Figure, type Goal } from "./figure.ts";
import { latencyRounds, paceOf, throughputRounds } from "./rounds.ts";
import { fullSizes, openStage, say, smallSizes } from "./stage.ts";
import { getInstance, listSessions, type Subject } from "./subjects.ts";
import { startBareServer, startLoadGenerator } from "./workers.ts";

const goals = {
  listSessions: {
    name: "list_sessions",
    unit: "/s",
    goal: 0.5,
    direction: "at least",
    meaning:
      "50 of an organization's 100,000 sessions in a table of 1,000,000: calls per second over REST, " +
      "beside a bare server that runs the same statement as the owner of the tables.",
  },
  getInstance: {
    name: "get_instance",
    unit: "/s",
    goal: 0.35,
    direction: "at least",
    meaning:
      "One instance with its active sessions: calls per second over REST, beside a bare server " +
      "that reads the instance's row by its key, and no sessions.",
  },
  growth: {
    name: "list_latency_growth",
    unit: "ms",
    goal: 1.3,
    direction: "at most",
    meaning:
      "list_sessions called one at a time: median latency with 1,000,000 sessions in the table (ours), " +
      "beside that with 1,000 (bare).",
  },
  signedIn: {
    name: "signed_in_calls",
    unit: "/s",
    goal: 0.8,
    direction: "at least",
    meaning:
      "get_instance with the cookie of a person who is signed in: calls per second over REST (ours), beside " +
      "the same calls with a key (bare).",
  },
} satisfies Record<string, Goal>;

export async function* measureRead(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const pace = paceOf(quick);
  await using stage = await openStage();
  const world = await stage.addWorld(fullSizes(quick));
  await using load = startLoadGenerator();
  const { pid } = world.nodes[0]!;

  const beside = async (goal: Goal, subject: Subject): Promise<[Figure, Goal]> => {
    await using bare = await startBareServer(subject.bare);
    await subject.verify(bare.url);
    say(goal.name);
    const rounds = await throughputRounds(
      load,
      pace,
      { job: subject.job, pid },
      { job: { ...subject.job, url: bare.url }, pid: bare.pid },
    );
    return [figureOf(goal, rounds), goal];
  };
  const listing = listSessions(world);
  yield await beside(goals.listSessions, listing);
  const instance = await getInstance(world);
  yield await beside(goals.getInstance, instance);

  say(goals.signedIn.name);
  const signedIn = { ...instance.job, headers: await signedInHeaders(world) };
  const callers = await throughputRounds(
    load,
    pace,
    { job: signedIn, pid },
    { job: instance.job, pid },
  );
  yield [figureOf(goals.signedIn, callers), goals.signedIn];

  const smallWorld = await stage.addWorld(smallSizes);
  say(goals.growth.name);
  const rounds = await latencyRounds(
    load,
    pace,
    { job: listing.job, pid },
    { job: listSessions(smallWorld).job, pid: smallWorld.nodes[0]!.pid },
  );
  yield [figureOf(goals.growth, rounds), goals.growth];
}

/** The headers of a page's calls, for a new member with every permission. */
async function signedInHeaders({ baseUrl, caller, organizations }: World) {
  const { url } = await caller.create_invitation({ email: "bench@acme.example", role: "owner" });
  const browser = openTestBrowser(baseUrl);
  const accepted = await browser.send("/api/sign-in/invitations/accept", {
    invitation: new URL(url).hash.slice(1),
    password: "correct horse battery",
  });
  assert.equal(accepted.status, 200);
  const headers = browser.headersFor(organizations[0].organizationId);
  return { ...headers, "content-type": "application/json" };
}
