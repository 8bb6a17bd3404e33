// A person with a browser in which they have accepted an invitation.
import assert from "node:assert/strict";
import type { Caller } from "./caller.ts";
import { openTestBrowser, type TestBrowser } from "./signed-in-browser.ts";

const password = "correct horse battery";

export interface JoinedPerson extends TestBrowser {
  userId: string;
  email: string;
}

/** `caller` invites the person to the role; the sign-in is fresh. */
export async function joinPerson(
  caller: Caller,
  { baseUrl, email, role = "member" }: { baseUrl: string; email: string; role?: string },
): Promise<JoinedPerson> {
  const { url } = await caller.create_invitation({ email, role });
  const browser = openTestBrowser(baseUrl);
  const reply = await browser.send("/api/sign-in/invitations/accept", {
    invitation: new URL(url).hash.slice(1),
    password,
  });
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return { ...browser, email, userId: reply.body["userId"] as string };
}
