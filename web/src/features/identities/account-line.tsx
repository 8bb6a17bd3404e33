// One agent account: whose it is, how it is used, and how long it lasts.
import type { AgentIdentity } from "@hawser/client";
import { Ellipsis } from "lucide-react";
import type { ReactNode } from "react";
import { useNow } from "../../design/ago.tsx";
import { Menu, MenuItem } from "../../design/menu.tsx";
import { Plain } from "../../design/plain.tsx";
import { kindName } from "../../words/kinds.ts";
import { exactly } from "../../words/times.ts";
import { words } from "../../words/words.ts";
import { expiryOf } from "./expiry.ts";

export type Kind = AgentIdentity["kind"];

interface LineProps {
  kind: Kind;
  /** Undefined: none is linked. */
  account: AgentIdentity | undefined;
  isLive: boolean;
  /** Whose it is, if it is not the person's own. Those have no buttons. */
  owner?: string;
  /** Why nothing can be asked of the host now. */
  rest?: string | undefined;
  /** Why no key can be linked now. */
  restKey?: string | undefined;
  onSignIn?: () => void;
  onKey?: () => void;
  onUnlink?: () => void;
}

export function AccountLine({
  kind,
  account,
  isLive,
  owner,
  rest,
  restKey,
  onSignIn,
  onKey,
  onUnlink,
}: LineProps): ReactNode {
  const name = kindName(kind);
  const hasLogin = account?.way === "subscription" || account?.way === null;
  return (
    <div className="line">
      <div className="grow">
        <span className="medium">{owner === undefined ? name : <Plain text={owner} />}</span>
        <span className="sub">
          {owner !== undefined && `${name}, `}
          {account ? <About account={account} /> : words("account.unlinked")}
        </span>
      </div>
      <div className="acts">
        {account && <State account={account} isLive={isLive} />}
        {onSignIn && (!account || hasLogin) && (
          <button
            type="button"
            className="btn sm"
            disabled={rest !== undefined}
            title={rest}
            aria-label={words(account ? "account.renew.of" : "account.sign_in.of", { kind: name })}
            onClick={onSignIn}
          >
            {words(account ? "account.renew" : "account.sign_in")}
          </button>
        )}
        {onSignIn && (
          <Menu
            trigger={
              <button
                type="button"
                className="btn bare sq"
                aria-label={words("account.actions", { kind: name })}
              >
                <Ellipsis className="icon" aria-hidden />
              </button>
            }
          >
            {account && !hasLogin && (
              <MenuItem disabled={rest !== undefined} title={rest} onSelect={onSignIn}>
                {words("account.sign_in_instead")}
              </MenuItem>
            )}
            <MenuItem
              disabled={restKey !== undefined}
              title={restKey}
              {...(onKey && { onSelect: onKey })}
            >
              {words(account ? "account.key_instead" : "account.key")}
            </MenuItem>
            {account && (
              <MenuItem
                className="red"
                disabled={rest !== undefined}
                title={rest}
                {...(onUnlink && { onSelect: onUnlink })}
              >
                {words("account.unlink")}
              </MenuItem>
            )}
          </Menu>
        )}
      </div>
    </div>
  );
}

function About({ account: { way, account, plan, utilization } }: { account: AgentIdentity }) {
  const parts = [
    way !== null && way !== "subscription" && words(`way.${way}`),
    account,
    plan !== null && words("account.plan", { plan }),
    utilization !== null && words("account.used", { percent: Math.round(utilization) }),
  ].filter((part) => typeof part === "string");
  return <Plain text={parts.length > 0 ? parts.join(", ") : words("account.linked")} />;
}

function State({
  account: { authenticated, way, expiresAt },
  isLive,
}: {
  account: AgentIdentity;
  isLive: boolean;
}): ReactNode {
  const now = useNow(60_000);
  if (isLive && !authenticated) {
    const isSecret = way !== null && way !== "subscription";
    return (
      <span className="tag amber">
        {words(isSecret ? "account.secret_gone" : "account.invalid")}
      </span>
    );
  }
  if (expiresAt === null) return null;
  const { text, isWarning } = expiryOf(expiresAt, now);
  return (
    <time
      dateTime={expiresAt}
      title={exactly(expiresAt)}
      className={isWarning ? "tag amber" : "dim small"}
    >
      {text}
    </time>
  );
}
