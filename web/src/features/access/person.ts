// Who is signed in with this browser, and the requests around signing in.
import { queryOptions } from "@tanstack/react-query";
import { organization } from "../../calls/organization.ts";
import { otherPerson, pagePerson } from "../../calls/page-person.ts";
import { queries } from "../../calls/query-client.ts";
import { isRefused, Refused } from "../../calls/refused.ts";
import { request } from "../../calls/request.ts";

export interface Person {
  user: { userId: string; email: string };
  signInId: string;
  expiresAt: string;
  /** Whether an organization's identity provider has signed the person in. */
  isOfProvider: boolean;
  hasPassword: boolean;
  passkeys: { passkeyId: string; device: string }[];
  organizations: {
    organizationId: string;
    name: string;
    role: string;
    memberName: string | null;
  }[];
}

export interface Invitation {
  organization: string;
  /** Missing if the node is of an earlier version. */
  organizationId?: string;
  email: string;
  name: string | null;
  role: string;
  expiresAt: string;
}

/** What an accepted invitation has made. */
export interface Accepted {
  userId: string;
  organizationId: string;
}

/** What an operator's link offers to the owner of an organization. */
export interface OwnersLink {
  organization: string;
  email: string;
  expiresAt: string;
  /** Missing if the node is of an earlier version. */
  hasPassword?: boolean;
}

/** Whoever is signed in at this moment. */
export async function askWhoIsSignedIn(signal: AbortSignal): Promise<Person> {
  const person = await request<Person>("/api/sign-in", undefined, { signal });
  pagePerson.noteSignedIn(person.user.userId);
  return person;
}

/** The person of the page. Fails while somebody else is signed in: nothing of one is drawn for the other. */
export const personQuery = queryOptions({
  queryKey: ["sign_in"],
  async queryFn({ signal }) {
    const person = await askWhoIsSignedIn(signal);
    if (pagePerson.isOther()) throw new Error("Somebody else is signed in.");
    return person;
  },
  staleTime: 60_000,
});

/** Undefined if nobody is signed in. */
export async function readPerson(): Promise<Person | undefined> {
  try {
    return await queries.query({ ...personQuery, staleTime: "static" });
  } catch (error) {
    if (isRefused(error, "unauthenticated")) return undefined;
    throw error;
  }
}

export const signIn = {
  withPassword: (email: string, password: string) =>
    request<{ userId: string }>("/api/sign-in/password", { email, password }),

  readLink: (link: string) => request<OwnersLink>("/api/sign-in/first/read", { link }),

  withLink: (link: string, password: string | undefined) =>
    request<{ userId: string }>("/api/sign-in/first", {
      link,
      ...(password !== undefined && { password }),
    }),

  readInvitation: (invitation: string) =>
    request<Invitation>("/api/sign-in/invitations/read", { invitation }),

  /** `key`: a member who has keys shows one of them. */
  accept: (invitation: string, { password, key }: { password?: string; key?: string }) =>
    request<Accepted>("/api/sign-in/invitations/accept", {
      invitation,
      ...(password !== undefined && { password }),
      ...(key !== undefined && { key }),
    }),
};

/**
 * Everything that this browser shows of the person is forgotten. Returns false if somebody else is signed in: nothing
 * is forgotten then, and the page is covered.
 */
export async function signOut(): Promise<boolean> {
  try {
    await request("/api/sign-in/out", {});
  } catch (error) {
    if (isRefused(error, otherPerson)) return false;
    // Somebody has ended the sign-in already.
    if (!(error instanceof Refused)) throw error;
  }
  forgetPerson();
  organization.forget();
  return true;
}

/** From now on the page may be somebody else's. Results whose key begins with `kept` stay. */
export function forgetPerson(kept?: string): void {
  pagePerson.forget();
  if (kept === undefined) queries.clear();
  else queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== kept });
}
