// Accepting an invitation: with the account that is signed in, or with a new one and its password. A passkey can be
// added at once.
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { organization } from "../../calls/organization.ts";
import { pagePerson } from "../../calls/page-person.ts";
import { isRefused, Refused } from "../../calls/refused.ts";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { Logo } from "../../design/logo.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { LeaveForProvider } from "./leave-for-provider.tsx";
import { NewPasswordForm } from "./new-password-form.tsx";
import { OfferPasskey } from "./offer-passkey.tsx";
import { canUsePasskeys } from "./passkey.ts";
import {
  forgetPerson,
  readPerson,
  signIn,
  type Accepted,
  type Invitation,
  type Person,
} from "./person.ts";
import { beginProvider, waysQuery } from "./provider.ts";
import { SignInForm } from "./sign-in-form.tsx";

export function InvitePage({
  invitation,
  onAccepted,
}: {
  /** The secret of the link. */
  invitation: string;
  onAccepted: () => void;
}): ReactNode {
  const [isAccepted, setIsAccepted] = useState(false);
  const offer = useQuery({
    queryKey: ["invitation", invitation],
    queryFn: async () => ({
      offered: await signIn.readInvitation(invitation),
      person: await readPerson(),
    }),
    enabled: !isAccepted,
    staleTime: Infinity,
  });

  const entered = ({ userId, organizationId }: Accepted) => {
    forgetPerson("invitation");
    pagePerson.noteSignedIn(userId);
    organization.use(organizationId);
    if (canUsePasskeys()) setIsAccepted(true);
    else onAccepted();
  };
  return (
    <main className="gate">
      <div>
        <div className="head">
          <Logo size={32} />
          <h1>
            {offer.data
              ? words("invite.title", { organization: offer.data.offered.organization })
              : words("product")}
          </h1>
        </div>
        {offer.isPending && <Skeleton lines={4} />}
        {offer.isError &&
          (isRefused(offer.error, "not_found") ? (
            <p>{words("invite.gone")}</p>
          ) : (
            <Failure error={offer.error} onTryAgain={() => void offer.refetch()} />
          ))}
        {isAccepted ? (
          <OfferPasskey what={words("invite.passkey.what")} onDone={onAccepted} />
        ) : (
          offer.data && (
            <Accept
              invitation={invitation}
              {...offer.data}
              onEntered={entered}
              onSignedIn={() => {
                forgetPerson("invitation");
                void offer.refetch();
              }}
            />
          )
        )}
      </div>
    </main>
  );
}

function Accept({
  invitation,
  offered,
  person,
  onEntered,
  onSignedIn,
}: {
  invitation: string;
  offered: Invitation;
  person: Person | undefined;
  onEntered: (accepted: Accepted) => void;
  onSignedIn: () => void;
}): ReactNode {
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  /** A member with keys shows one, because the inviter knows the link too. */
  const [key, setKey] = useState<string>();
  const wrongKey = error instanceof Refused ? error.wrong("key") : undefined;
  const { organizationId } = offered;
  const { data: ways } = useQuery(waysQuery(organizationId));
  const own = person?.user.email.toLowerCase() === offered.email.toLowerCase();
  const about = (
    <p className="mid">{words("invite.about", { email: offered.email, role: offered.role })}</p>
  );

  async function accept(password?: string): Promise<void> {
    setIsBusy(true);
    setError(undefined);
    try {
      const accepted = await signIn.accept(invitation, {
        ...(password !== undefined && { password }),
        ...(key && { key: key.trim() }),
      });
      onEntered(accepted);
    } catch (problem) {
      setError(problem);
      if (problem instanceof Refused && problem.wrong("key") !== undefined) setKey(key ?? "");
    } finally {
      setIsBusy(false);
    }
  }

  // The address has an account, and only its person can accept.
  if (isRefused(error, "sign_in_first")) {
    return (
      <>
        <p className="mid">{words("invite.sign_in_first", { email: offered.email })}</p>
        <SignInForm email={offered.email} onSignedIn={onSignedIn} />
      </>
    );
  }
  const keyField = key !== undefined && (
    <Field
      label={words("invite.key")}
      hint={words("invite.key.hint")}
      wrong={key === "" ? undefined : wrongKey}
      type="password"
      autoComplete="off"
      required
      value={key}
      onChange={({ target }) => setKey(target.value)}
    />
  );
  const problem = wrongKey === undefined ? error : undefined;
  if (own) {
    return (
      <>
        {about}
        {keyField}
        {problem !== undefined && <Failure error={problem} />}
        <button
          type="button"
          className="btn big primary"
          disabled={isBusy}
          onClick={() => void accept()}
        >
          {words("invite.accept")}
        </button>
      </>
    );
  }
  return (
    <>
      {about}
      {ways?.provider === true && organizationId !== undefined && (
        <>
          <LeaveForProvider
            isPrimary
            begin={() => {
              // Where the browser comes back to, should the provider refuse.
              organization.use(organizationId);
              return beginProvider(organizationId, { invitation });
            }}
          >
            {words("sign_in.sso")}
          </LeaveForProvider>
          <div className="or">{words("sign_in.or")}</div>
        </>
      )}
      <NewPasswordForm
        email={offered.email}
        submit={words("invite.accept")}
        error={problem}
        isBusy={isBusy}
        onPassword={(password) => void accept(password)}
      >
        {keyField}
      </NewPasswordForm>
    </>
  );
}
