// Covers the page of a person while somebody else is signed in with the browser. The page stays below it as it was.
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState, type ReactNode } from "react";
import { isRefused } from "../calls/refused.ts";
import { Dialog } from "../design/dialog.tsx";
import { Failure } from "../design/failure.tsx";
import { Skeleton } from "../design/skeleton.tsx";
import { storeNow } from "../device/kept.ts";
import { askWhoIsSignedIn, type Person } from "../features/access/index.ts";
import { words } from "../words/words.ts";
import { SignInAs } from "./sign-in-as.tsx";

export function OtherPerson({ person }: { person: Person }): ReactNode {
  const [isReturning, setIsReturning] = useState(false);
  const now = useQuery({ queryKey: ["signed_in_now"], queryFn: readNow, staleTime: 0, gcTime: 0 });
  const { email } = person.user;
  const other = now.data?.user.email;
  return (
    <Dialog title={words("other")} hidesPage>
      {now.isPending && <Skeleton lines={2} />}
      {now.isError && <Failure error={now.error} onTryAgain={() => void now.refetch()} />}
      {now.isSuccess && (
        <p>{other === undefined ? words("other.nobody") : words("other.now", { other })}</p>
      )}
      <p className="mid">{words("other.what", { email })}</p>
      {other !== undefined && (
        <button type="button" className="btn big primary" onClick={() => void reload()}>
          <span className="cut">{words("other.reload", { other })}</span>
        </button>
      )}
      {isReturning ? (
        // Its code must not be waited for outside: the page would be shown meanwhile.
        <Suspense fallback={<Skeleton lines={4} />}>
          <div ref={focusField}>
            <SignInAs person={person} onSignedIn={() => void now.refetch()} />
          </div>
        </Suspense>
      ) : (
        <button type="button" className="btn big" onClick={() => setIsReturning(true)}>
          <span className="cut">{words("other.return", { email })}</span>
        </button>
      )}
    </Dialog>
  );
}

/** The button that had the focus is gone. */
const focusField = (element: HTMLElement | null) =>
  element?.querySelector<HTMLElement>("input:not([readonly])")?.focus();

/** The first person's drafts must be on the device before. */
async function reload(): Promise<void> {
  await storeNow();
  location.reload();
}

/** Resolves to null if the browser has no sign-in any more. */
async function readNow({ signal }: { signal: AbortSignal }): Promise<Person | null> {
  try {
    return await askWhoIsSignedIn(signal);
  } catch (error) {
    if (isRefused(error, "unauthenticated")) return null;
    throw error;
  }
}
