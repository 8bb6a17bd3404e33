// The person's agent accounts on a host, each with what renews, replaces and removes it. Below them the accounts of
// others, for those who look after hosts.
import type { InstanceDetail } from "@hawser/client";
import { useState, type ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Ago } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";
import { AccountLine, type Kind } from "./account-line.tsx";
import { LinkDialog } from "./link-dialog.tsx";
import { LoginDialog } from "./login-dialog.tsx";
import { UnlinkDialog } from "./unlink-dialog.tsx";
import type { Accounts } from "./use-accounts.ts";

const linkable: readonly Kind[] = ["claude_code", "codex"];

export function AccountsSection({
  host,
  accounts,
  rest,
}: {
  host: InstanceDetail;
  accounts: Accounts;
  rest: string | undefined;
}): ReactNode {
  const { own, others, listing, error, userId } = accounts;
  const { instanceId, name } = host;
  const [asked, setAsked] = useState<{ kind: Kind; what: "login" | "key" | "unlink" }>();
  const start = useChange("start_agent_login");
  const close = () => setAsked(undefined);
  const signIn = (kind: Kind) => {
    setAsked({ kind, what: "login" });
    start.mutate({ instanceId, kind });
  };
  const shown = linkable.filter(
    (kind) =>
      own.some((account) => account.kind === kind) ||
      host.agents.some((agent) => agent.kind === kind && agent.installed),
  );
  const sealingKey = listing?.sealingKey ?? null;
  return (
    <section className="sec">
      <header>
        <h2>{words("accounts")}</h2>
        <p>
          {listing && !listing.live ? (
            <>
              {words("agents.as_reported")}{" "}
              {listing.takenAt !== null && <Ago at={listing.takenAt} />}
            </>
          ) : (
            words("accounts.where")
          )}
        </p>
      </header>
      {error && (
        <Failure error={error} what={words("accounts.failed")} onTryAgain={accounts.readAgain} />
      )}
      {listing && (
        <div className="group">
          {shown.length === 0 && <p className="line dim">{words("accounts.none")}</p>}
          {shown.map((kind) => (
            <AccountLine
              key={kind}
              kind={kind}
              account={own.find((account) => account.kind === kind)}
              isLive={listing.live}
              rest={rest}
              restKey={rest ?? (sealingKey === null ? words("account.no_key") : undefined)}
              onSignIn={() => signIn(kind)}
              onKey={() => setAsked({ kind, what: "key" })}
              onUnlink={() => setAsked({ kind, what: "unlink" })}
            />
          ))}
        </div>
      )}
      {listing?.separated !== undefined && listing.separated !== null && shown.length > 0 && (
        <p className="dim small">
          {words(listing.separated ? "accounts.separated" : "accounts.shared")}
        </p>
      )}
      {others.length > 0 && (
        <>
          <header>
            <h2>{words("accounts.others")}</h2>
          </header>
          <div className="group">
            {others.map((account) => (
              <AccountLine
                key={`${account.user.userId} ${account.kind}`}
                kind={account.kind}
                account={account}
                isLive={listing?.live ?? false}
                owner={account.user.name}
              />
            ))}
          </div>
        </>
      )}
      {asked?.what === "login" && (
        <LoginDialog
          title={words("login.title", { kind: kindName(asked.kind), name })}
          start={start}
          onAgain={() => signIn(asked.kind)}
          onClose={close}
        />
      )}
      {asked?.what === "key" && sealingKey && userId !== undefined && (
        <LinkDialog
          host={host}
          kind={asked.kind}
          userId={userId}
          sealingKey={sealingKey}
          onClose={close}
        />
      )}
      {asked?.what === "unlink" && <UnlinkDialog host={host} kind={asked.kind} onClose={close} />}
    </section>
  );
}
