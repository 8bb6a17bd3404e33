// A person with several organizations chooses one. A person with none learns what to do.
import type { ReactNode } from "react";
import { Logo } from "../../design/logo.tsx";
import { words } from "../../words/words.ts";
import type { Person } from "./person.ts";

export function ChooseOrganization({
  person,
  onChoose,
  onSignOut,
}: {
  person: Person;
  onChoose: (organizationId: string) => void;
  onSignOut: () => void;
}): ReactNode {
  const { organizations, user } = person;
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
