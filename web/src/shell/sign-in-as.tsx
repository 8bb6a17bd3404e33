// The ways in which the person of a page can sign in again without leaving it.
import type { ReactNode } from "react";
import { RenewWithProvider, SignInForm, type Person } from "../features/access/index.ts";

export function SignInAs({
  person,
  isStale = false,
  onSignedIn,
}: {
  person: Person;
  /** Whether the person has to prove who they are. */
  isStale?: boolean;
  onSignedIn: () => void;
}): ReactNode {
  // A provider's sign-in reaches one organization.
  const ofProvider = person.isOfProvider ? person.organizations[0] : undefined;
  if (!ofProvider) return <SignInForm email={person.user.email} onSignedIn={onSignedIn} />;
  return (
    <RenewWithProvider
      userId={person.user.userId}
      organizationId={ofProvider.organizationId}
      isStale={isStale}
      onSignedIn={onSignedIn}
    />
  );
}
