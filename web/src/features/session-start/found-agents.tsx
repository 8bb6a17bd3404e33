// The agents of a host, the ready ones first, each with whose login a session of this person would use.
import type { Instance } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Result } from "../../calls/call.ts";
import { read, useRead } from "../../calls/use-call.ts";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";

type Agent = Result<"list_agent_kinds">["agentKinds"][number];

export function FoundAgents({ host }: { host: Instance }): ReactNode {
  const { instanceId } = host;
  const kinds = useRead("list_agent_kinds", { instanceId });
  const accounts = useRead("list_agent_identities", { instanceId });
  const found = (kinds.data?.agentKinds ?? [])
    .filter(({ installed }) => installed)
    .toSorted((a, b) => Number(isReady(b)) - Number(isReady(a)));
  return (
    <section aria-label={words("hosts.agents")}>
      <h2>
        {words("start.found")} <Plain text={host.host?.hostname ?? host.name} />
      </h2>
      <div className="group">
        {kinds.isPending && <p className="line dim">{words("menu.loading")}</p>}
        {kinds.isError && <p className="line red">{kinds.error.message}</p>}
        {kinds.data && found.length === 0 && <p className="line dim">{words("agents.none")}</p>}
        {found.map((agent) => (
          <div key={agent.kind} className="line">
            <Mark
              state={isReady(agent) ? "on" : "wait"}
              label={words(isReady(agent) ? "agent.ready" : "agent.not_ready")}
            />
            <div className="grow">
              {kindName(agent.kind)} {agent.version}
              <span className="sub">
                {isReady(agent) ? (
                  <WhoseLogin
                    agent={agent}
                    instanceId={instanceId}
                    accounts={accounts.data?.identities}
                  />
                ) : (
                  agent.problems[0]?.message
                )}
              </span>
            </div>
            {!isReady(agent) && (
              <Link to="/hosts/$instanceId" params={{ instanceId }} className="btn sm">
                {words("composer.open_host")}
              </Link>
            )}
          </div>
        ))}
      </div>
    </section>
  );
}

const isReady = ({ authenticated, problems }: Agent) => authenticated && problems.length === 0;

function WhoseLogin({
  agent: { kind },
  instanceId,
  accounts,
}: {
  agent: Agent;
  instanceId: string;
  /** Undefined while it is not known. */
  accounts: Result<"list_agent_identities">["identities"] | undefined;
}): ReactNode {
  const models = useQuery({
    ...read("list_models", { instanceId, agentKind: kind }),
    enabled: kind === "opencode",
  });
  if (kind === "opencode") {
    const names = models.data?.providers.map(({ providerId }) => providerId);
    return (
      names && words("start.providers", { n: names.length, names: names.slice(0, 5).join(", ") })
    );
  }
  if (!accounts) return null;
  const own = accounts.find((account) => account.kind === kind);
  if (!own) return words("start.hosts_login");
  const about = [own.account, own.plan].filter((each) => each !== null).join(", ");
  return about === "" ? words("start.your_login") : words("start.your_login.of", { about });
}
