// Two people can share a browser: while a page of one of them is open, the other signs in in another tab, and the
// browser then sends the other one's cookie. So a page names its person, and nobody else acts for it (decision 0096).
import { Refusal, formatId } from "@hawser/contract";

/** Throws `other_person` if the request names a person, and `userId` is somebody else. No-op if one of them is missing. */
export function refuseOtherPerson(
  named: string | undefined,
  userId: string | null | undefined,
): void {
  if (named === undefined || !userId || named === formatId("user", userId)) return;
  throw new Refusal(
    "other_person",
    "Somebody else has signed in with this browser since the page was opened, so nothing was done. Reload the page to go on as that person, or sign in again as the person of the page.",
  );
}
