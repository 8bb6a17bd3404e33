// One agent of a host: whether it can start, what is being done with it, and the buttons that install, update and
// restart it. A button that needs the host rests while the host is not online, with the reason on it.
import type { InstanceDetail } from "@hawser/client";
import { useState, type ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Mark } from "../../design/mark.tsx";
import { words } from "../../words/words.ts";
import { RestartDialog } from "./restart-dialog.tsx";
import { saidOfAgent, workOn, type Agent, type Login } from "./said-of-agent.ts";

const shownBy = ["get_instance", "search_instances"] as const;

export function AgentLine({
  host,
  agent,
  login,
  isDefault = false,
  rest,
}: {
  host: InstanceDetail;
  agent: Agent;
  login?: Login | undefined;
  isDefault?: boolean;
  /** Why nothing can be asked of the host now. */
  rest: string | undefined;
}): ReactNode {
  const { kind, installed, version } = agent;
  const isOnline = host.status === "online";
  const mayEdit = useMay("settings:edit");
  const [isRestarting, setIsRestarting] = useState(false);
  const order = useOrder(host.instanceId, agent);
  const said = saidOfAgent(agent, login);
  const work = isOnline ? workOn(kind, host.operations) : undefined;
  const isWorking = work?.state === "running" || order.isPending;
  return (
    <div className="line">
      {isOnline && (
        <Mark
          state={work?.state === "running" ? "run" : said.mark}
          label={work?.state === "running" ? words("agent.working") : said.word}
        />
      )}
      <div className="grow">
        <span className="medium">{kind}</span> <span className="mono dim">{version}</span>
        {isDefault && <span className="tag">{words("agent.default")}</span>}
        {isOnline && (
          <span className={said.mark === "ask" ? "sub amber" : "sub"}>
            {work?.state === "running"
              ? [work.step, work.percent !== null && words("percent", { percent: work.percent })]
                  .filter(Boolean)
                  .join(", ")
              : (said.detail ?? said.word)}
          </span>
        )}
        {work?.state === "failed" && (
          <span className="sub red">{words("agent.work_failed", { reason: work.step })}</span>
        )}
        {order.outcome !== undefined && (
          <span className="sub" role="status">
            {order.outcome}
          </span>
        )}
        {order.error && (
          <span className="sub red" role="alert">
            {order.error.message}
          </span>
        )}
      </div>
      {mayEdit && (
        <div className="acts">
          <button
            type="button"
            className="btn sm"
            disabled={rest !== undefined || isWorking}
            title={rest}
            aria-label={words(installed ? "agent.update.of" : "agent.install.of", { kind })}
            onClick={order.give}
          >
            {words(installed ? "agent.update" : "agent.install")}
          </button>
          {installed && (
            <button
              type="button"
              className="btn sm"
              disabled={rest !== undefined || isWorking}
              title={rest}
              aria-label={words("agent.restart.of", { kind })}
              onClick={() => setIsRestarting(true)}
            >
              {words("agent.restart")}
            </button>
          )}
        </div>
      )}
      {isRestarting && (
        <RestartDialog host={host} kind={kind} onClose={() => setIsRestarting(false)} />
      )}
    </div>
  );
}

/** Installs what is missing, and updates what is there. opencode has an action of its own for both. */
function useOrder(instanceId: string, { kind, installed }: Agent) {
  const install = useChange("install_agent_kind", shownBy);
  const update = useChange("update_agent_kind", shownBy);
  const opencode = useChange("update_opencode", shownBy);
  const { isPending, error, data } = kind === "opencode" ? opencode : installed ? update : install;
  return {
    isPending,
    error,
    /** What the host has accepted is shown as work on the host. */
    outcome:
      data === undefined || data.status === "in_progress"
        ? undefined
        : data.status === "installed"
          ? words("agent.current", { version: data.version ?? "" })
          : (data.message ?? undefined),
    give: () => {
      if (kind === "opencode") opencode.mutate({ instanceId });
      else (installed ? update : install).mutate({ instanceId, kind });
    },
  };
}
