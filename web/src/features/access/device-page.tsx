// A program shows a code and asks for a key. The person compares the code, chooses an organization, and approves or
// refuses.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { organization } from "../../calls/organization.ts";
import { isRefused } from "../../calls/refused.ts";
import { Ago } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { Logo } from "../../design/logo.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Plain } from "../../design/plain.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { CodeForm } from "./code-form.tsx";
import { deviceLogin, type WaitingProgram } from "./device-login.ts";
import type { Person } from "./person.ts";

export function DevicePage({
  person,
  code,
  onCode,
}: {
  person: Person;
  /** What the address names; undefined if it names none. */
  code: string | undefined;
  onCode: (code: string) => void;
}): ReactNode {
  usePageTitle(words("device.title"));
  const { email } = person.user;
  return (
    <main className="gate">
      <div>
        <div className="head">
          <Logo size={32} />
          <h1>{words("device.title")}</h1>
        </div>
        {person.organizations.length === 0 ? (
          <p className="mid">{words("organizations.none.what", { email })}</p>
        ) : code === undefined ? (
          <CodeForm onCode={onCode} />
        ) : (
          <Program person={person} code={code} onCode={onCode} />
        )}
        <p className="dim small">{words("device.person", { email })}</p>
      </div>
    </main>
  );
}

function Program({
  person,
  code,
  onCode,
}: {
  person: Person;
  code: string;
  onCode: (code: string) => void;
}): ReactNode {
  const answer = useMutation({
    mutationFn: async (organizationId: string | undefined) => {
      if (organizationId === undefined) await deviceLogin.refuse(code);
      else await deviceLogin.approve(code, organizationId);
      return words(organizationId === undefined ? "device.refused" : "device.approved");
    },
  });
  const asking = useQuery({
    queryKey: ["device_login", code],
    queryFn: () => deviceLogin.read(code),
    enabled: !answer.isSuccess,
    staleTime: Infinity,
    // A program that has been answered is shown no more.
    gcTime: 0,
  });
  if (answer.isSuccess) {
    return (
      <p role="status">
        {answer.data} {words("device.close")}
      </p>
    );
  }
  if (asking.isPending) return <Skeleton lines={4} />;
  if (asking.isError && isRefused(asking.error, "not_found")) {
    return (
      <>
        <p role="alert">{words("device.unknown")}</p>
        <CodeForm onCode={onCode} />
      </>
    );
  }
  if (asking.isError) {
    return <Failure error={asking.error} onTryAgain={() => void asking.refetch()} />;
  }
  return (
    <>
      <Asks program={asking.data} code={code} />
      {answer.error && <Failure error={answer.error} />}
      <Answers
        organizations={person.organizations}
        isBusy={answer.isPending}
        onAnswer={answer.mutate}
      />
    </>
  );
}

function Asks({ program, code }: { program: WaitingProgram; code: string }): ReactNode {
  return (
    <>
      <p className="mid">{words("device.asks")}</p>
      <dl className="facts">
        <dt>{words("device.name")}</dt>
        <dd>
          <Plain text={program.name} />
        </dd>
        <dt>{words("device.code")}</dt>
        <dd className="mono">{code.toUpperCase()}</dd>
        <dt>{words("device.asked")}</dt>
        <dd>
          <Ago at={program.createdAt} />
        </dd>
      </dl>
      <p className="mid">{words("device.warning")}</p>
    </>
  );
}

function Answers({
  organizations,
  isBusy,
  onAnswer,
}: {
  organizations: Person["organizations"];
  isBusy: boolean;
  /** Undefined refuses. */
  onAnswer: (organizationId: string | undefined) => void;
}): ReactNode {
  const ids = organizations.map(({ organizationId }) => organizationId);
  const recent = organization.recent();
  const [chosen, setChosen] = useState(() => ids.find((id) => id === recent) ?? ids[0]);
  return (
    <>
      {organizations.length > 1 && (
        <label className="field">
          <span>{words("device.organization")}</span>
          <select
            className="input"
            value={chosen}
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            {organizations.map(({ organizationId, name }) => (
              <option key={organizationId} value={organizationId}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <button
        type="button"
        className="btn big primary"
        disabled={isBusy}
        onClick={() => onAnswer(chosen)}
      >
        {words("device.approve")}
      </button>
      <button
        type="button"
        className="btn big"
        disabled={isBusy}
        onClick={() => onAnswer(undefined)}
      >
        {words("device.refuse")}
      </button>
    </>
  );
}
