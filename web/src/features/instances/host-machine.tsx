// The daemon of a host and its code-hosting client.
import type { InstanceDetail } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";

export function HostMachine({
  host,
  rest,
}: {
  host: InstanceDetail;
  rest: string | undefined;
}): ReactNode {
  const { instanceId, daemonVersion, operations, codeHostingCli: client, status } = host;
  const mayUpdate = useMay("settings:edit");
  const update = useChange("update_agent", ["get_instance", "search_instances"]);
  const isUpdating =
    status === "online" &&
    operations.some(({ type, state }) => type === "update_daemon" && state === "running");
  if (daemonVersion === null) return null;
  return (
    <section className="sec">
      <header>
        <h2>{words("machine")}</h2>
      </header>
      <div className="group">
        <div className="line">
          <div className="grow">
            <span className="medium">{words("machine.daemon")}</span>{" "}
            <span className="mono dim">{daemonVersion}</span>
            {isUpdating && <span className="sub">{words("machine.updating")}</span>}
            {update.data?.status === "installed" && (
              <span className="sub" role="status">
                {words("machine.current")}
              </span>
            )}
            {update.error && (
              <span className="sub red" role="alert">
                {update.error.message}
              </span>
            )}
          </div>
          {mayUpdate && (
            <button
              type="button"
              className="btn sm"
              disabled={rest !== undefined || update.isPending || isUpdating}
              title={rest ?? words("machine.update.what")}
              aria-label={words("machine.update.of")}
              onClick={() => update.mutate({ instanceId })}
            >
              {words("agent.update")}
            </button>
          )}
        </div>
        {client && (
          <div className="line">
            <div className="grow">
              <span className="medium">{words("machine.client")}</span>
              <span className="sub">
                {!client.installed ? (
                  words("agent.not_installed")
                ) : client.loggedIn ? (
                  <Plain text={words("machine.client.as", { account: client.account ?? "" })} />
                ) : (
                  words("agent.not_logged_in")
                )}
              </span>
            </div>
          </div>
        )}
      </div>
    </section>
  );
}
