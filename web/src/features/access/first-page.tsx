// The operator's link of an owner who cannot sign in otherwise yet: it asks for a password, signs in, and offers a
// passkey.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { pagePerson } from "../../calls/page-person.ts";
import { isRefused } from "../../calls/refused.ts";
import { Failure } from "../../design/failure.tsx";
import { Logo } from "../../design/logo.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Plain } from "../../design/plain.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { NewPasswordForm } from "./new-password-form.tsx";
import { OfferPasskey } from "./offer-passkey.tsx";
import { canUsePasskeys } from "./passkey.ts";
import { forgetPerson, signIn } from "./person.ts";

export function FirstPage({
  link,
  onEntered,
}: {
  /** The secret of the link. */
  link: string;
  onEntered: () => void;
}): ReactNode {
  usePageTitle(words("sign_in.submit"));
  const [isSignedIn, setIsSignedIn] = useState(false);
  const offer = useQuery({
    queryKey: ["first", link],
    queryFn: () => signIn.readLink(link),
    enabled: !isSignedIn,
    staleTime: Infinity,
  });
  const use = useMutation({
    mutationFn: (password: string | undefined) => signIn.withLink(link, password),
    onSuccess({ userId }) {
      forgetPerson("first");
      pagePerson.noteSignedIn(userId);
      if (canUsePasskeys()) setIsSignedIn(true);
      else onEntered();
    },
  });
  // Another browser may use the link, or the operator may replace it, while the page is open.
  const isGone = [offer.error, use.error].some((error) => isRefused(error, "not_found"));
  return (
    <main className="gate">
      <div>
        <div className="head">
          <Logo size={32} />
          <h1>{offer.data ? <Plain text={offer.data.organization} /> : words("product")}</h1>
        </div>
        {offer.isPending && <Skeleton lines={4} />}
        {isGone && <p>{words("first.gone")}</p>}
        {offer.isError && !isGone && (
          <Failure error={offer.error} onTryAgain={() => void offer.refetch()} />
        )}
        {isSignedIn && <OfferPasskey what={words("first.passkey.what")} onDone={onEntered} />}
        {offer.data && !isGone && !isSignedIn && (
          <>
            <p className="mid">
              {words(offer.data.hasPassword ? "first.about.again" : "first.about", {
                email: offer.data.email,
              })}
            </p>
            {offer.data.hasPassword ? (
              <>
                {use.error && <Failure error={use.error} />}
                <button
                  type="button"
                  className="btn big primary"
                  disabled={use.isPending}
                  onClick={() => use.mutate(undefined)}
                >
                  {words("sign_in.submit")}
                </button>
              </>
            ) : (
              <NewPasswordForm
                email={offer.data.email}
                submit={words("sign_in.submit")}
                error={use.error ?? undefined}
                isBusy={use.isPending}
                onPassword={(password) => use.mutate(password)}
              />
            )}
          </>
        )}
      </div>
    </main>
  );
}
