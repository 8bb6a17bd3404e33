// The agents of a host, each with what keeps it from starting.
import type { InstanceDetail } from "@hawser/client";
import type { ReactNode } from "react";
import { useMay } from "../../calls/use-may.ts";
import { words } from "../../words/words.ts";
import { AgentLine } from "./agent-line.tsx";
import { defaultKindOf } from "./fallback.ts";
import type { Login } from "./said-of-agent.ts";

export function AgentsSection({
  host,
  loginOf,
  rest,
}: {
  host: InstanceDetail;
  /** Whose login the person's sessions use with an agent. */
  loginOf: (kind: string) => Login;
  rest: string | undefined;
}): ReactNode {
  const mayEdit = useMay("settings:edit");
  const isOnline = host.status === "online";
  const preferred = defaultKindOf(host);
  return (
    <section className="sec first">
      <header>
        <h2>{words("hosts.agents")}</h2>
        {host.agents.length > 0 && (
          <p>{words(isOnline ? "agents.pinned" : "agents.as_reported")}</p>
        )}
      </header>
      <div className="group">
        {host.agents.length === 0 && <p className="line dim">{words("agents.none")}</p>}
        {host.agents.map((agent) => (
          <AgentLine
            key={agent.kind}
            host={host}
            agent={agent}
            login={loginOf(agent.kind)}
            isDefault={agent.kind === preferred}
            rest={rest}
          />
        ))}
      </div>
      {!mayEdit && (
        <p className="dim small">{words("agents.may_not", { permission: "settings:edit" })}</p>
      )}
    </section>
  );
}
