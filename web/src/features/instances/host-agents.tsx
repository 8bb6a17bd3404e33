// The agents of a host, each with what keeps it from starting. What is missing can be installed.
import type { InstanceDetail } from "@hawser/client";
import type { ReactNode } from "react";
import type { Input } from "../../calls/call.ts";
import { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Mark } from "../../design/mark.tsx";
import { words } from "../../words/words.ts";
import { saidOfAgent } from "./status.ts";

export function HostAgents({ host }: { host: InstanceDetail }): ReactNode {
  const isOnline = host.status === "online";
  const mayInstall = useMay("settings:edit");
  return (
    <section className="sec first">
      <header>
        <h2>{words("hosts.agents")}</h2>
        {!isOnline && host.agents.length > 0 && <p>{words("agents.as_reported")}</p>}
      </header>
      <div className="group">
        {host.agents.length === 0 && <p className="line dim">{words("agents.none")}</p>}
        {host.agents.map((agent) => {
          const said = saidOfAgent(agent);
          return (
            <div key={agent.kind} className="line">
              {isOnline && <Mark state={said.mark} />}
              <div className="grow">
                <span className="medium">{agent.kind}</span>{" "}
                <span className="mono dim">{agent.version}</span>
                <span className="sub">{isOnline && (said.detail ?? said.word)}</span>
              </div>
              {isOnline && mayInstall && !agent.installed && (
                <Install instanceId={host.instanceId} kind={agent.kind} />
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

function Install(agent: Input<"install_agent_kind">): ReactNode {
  const install = useChange("install_agent_kind", ["get_instance", "search_instances"]);
  if (install.isError) {
    return (
      <span className="red small" role="alert">
        {install.error.message}
      </span>
    );
  }
  // What the host has accepted is shown as work on the host.
  return (
    <button
      type="button"
      className="btn sm"
      disabled={install.isPending || install.data?.status === "in_progress"}
      onClick={() => install.mutate(agent)}
    >
      {words("agent.install")}
    </button>
  );
}
