// Long work on a host that runs or has ended within the last minutes, and what its owner should solve. Absent without any.
import type { InstanceDetail } from "@hawser/client";
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Ago } from "../../design/ago.tsx";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";

export function Warnings({ host: { warnings } }: { host: InstanceDetail }): ReactNode {
  if (warnings.length === 0) return null;
  return (
    <section className="sec first">
      <header>
        <h2>{words("host.warnings")}</h2>
      </header>
      {warnings.map(({ code, message }) => (
        <div key={code} className="note">
          <TriangleAlert className="icon amber" aria-hidden />
          <p className="grow">{message}</p>
        </div>
      ))}
    </section>
  );
}

const marks = { running: "run", done: "done", failed: "err" } as const;

/** Operations of a host, newest first. While the host is offline, the progress of running ones is unknown. */
export function Operations({ host }: { host: InstanceDetail }): ReactNode {
  if (host.operations.length === 0) return null;
  const isOnline = host.status === "online";
  const operations = host.operations.toSorted((a, b) => b.startedAt.localeCompare(a.startedAt));
  return (
    <section className="sec first">
      <header>
        <h2>{words("host.operations")}</h2>
        {!isOnline && <p>{words("agents.as_reported")}</p>}
      </header>
      <div className="group">
        {operations.map(({ operationId, type, subject, state, step, percent, startedAt }) => (
          <div key={operationId} className="line">
            <Mark
              state={state === "running" && !isOnline ? "off" : marks[state]}
              label={words(`operation.${state}`)}
            />
            <div className="grow">
              <span className="medium breaks">
                {words(`operation.${type}`)} <Plain text={subject} />
              </span>
              <span className={state === "failed" ? "sub red" : "sub"}>
                {state === "done" ? words("operation.done") : step}
              </span>
            </div>
            <span className="dim small nowrap">
              {percent === null || state !== "running" || !isOnline ? (
                <Ago at={startedAt} />
              ) : (
                words("percent", { percent })
              )}
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}
