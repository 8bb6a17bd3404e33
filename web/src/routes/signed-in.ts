// Who is signed in with this browser, for the pages that need somebody.
import { redirect } from "@tanstack/react-router";
import { readPerson, type Person } from "../features/access/index.ts";

/** Without a sign-in it leads to /sign-in, and back to this address of ours. */
export async function signedInPerson(href: string): Promise<Person> {
  const person = await readPerson();
  if (person) return person;
  throw redirect({ to: "/sign-in", search: href === "/" ? {} : { to: href } });
}
