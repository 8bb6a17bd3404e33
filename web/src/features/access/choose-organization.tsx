// A person with several organizations chooses one. A person with none learns what to do: the organization may ask for
// its identity provider.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Logo } from "../../design/logo.tsx";
import { words } from "../../words/words.ts";
import { LeaveForProvider } from "./leave-for-provider.tsx";
import type { Person } from "./person.ts";
import { beginConnecting, beginProvider, waysQuery } from "./provider.ts";

export function ChooseOrganization({
  person,
  recent,
  onChoose,
  onSignOut,
}: {
  person: Person;
  /** The organization that this browser used most recently. */
  recent: string | undefined;
  onChoose: (organizationId: string) => void;
  onSignOut: () => void;
}): ReactNode {
  const { organizations, user } = person;
  const { data: ways } = useQuery(waysQuery(organizations.length > 0 ? undefined : recent));
  if (ways?.required === true && recent !== undefined) {
    return (
      <main className="gate">
        <div>
          <div className="head">
            <Logo size={32} />
            <h1>{words("organizations.sso")}</h1>
          </div>
          <p className="mid">{words("organizations.sso.what", { email: user.email })}</p>
          <LeaveForProvider isPrimary begin={() => beginProvider(recent)}>
            {words("sign_in.sso")}
          </LeaveForProvider>
          <LeaveForProvider begin={() => beginConnecting(recent)}>
            {words("organizations.sso.connect")}
          </LeaveForProvider>
          <button type="button" className="btn bare" onClick={onSignOut}>
            {words("account.sign_out")}
          </button>
        </div>
      </main>
    );
  }
  return (
    <main className="gate">
      <div>
        <div className="head">
          <Logo size={32} />
          <h1>{words(organizations.length > 0 ? "organizations.choose" : "organizations.none")}</h1>
        </div>
        {organizations.length === 0 && (
          <p className="mid">{words("organizations.none.what", { email: user.email })}</p>
        )}
        {organizations.map(({ organizationId, name, role }) => (
          <button
            key={organizationId}
            type="button"
            className="btn big"
            onClick={() => onChoose(organizationId)}
          >
            <span className="cut">{name}</span>
            <span className="dim push">{role}</span>
          </button>
        ))}
        <button type="button" className="btn bare" onClick={onSignOut}>
          {words("account.sign_out")}
        </button>
      </div>
    </main>
  );
}
