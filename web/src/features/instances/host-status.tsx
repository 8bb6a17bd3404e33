// The state of a host, and of its agents, in tables and headers.
import type { Instance } from "@hawser/client";
import type { ReactNode } from "react";
import { useNow } from "../../design/ago.tsx";
import { Mark } from "../../design/mark.tsx";
import { words } from "../../words/words.ts";
import { saidOfAgent } from "../agents/index.ts";
import { saidOfHost } from "./status.ts";

export function HostStatus({ host }: { host: Instance }): ReactNode {
  const now = useNow(5_000);
  const { mark, word, detail } = saidOfHost(host, now);
  return (
    <>
      <span className="row">
        <Mark state={mark} /> {word}
      </span>
      {detail && <span className="sub under-mark">{detail}</span>}
    </>
  );
}

export function ReportedAgents({ host }: { host: Instance }): ReactNode {
  const { agents, status } = host;
  if (status === "pairing") return <span className="dim">{words("agents.after_pairing")}</span>;
  if (status !== "online") {
    const installed = agents.filter(({ installed }) => installed).map(({ kind }) => kind);
    return (
      <span className="dim">
        {installed.length > 0 ? installed.join(", ") : words("agents.none")}
        <span className="sub">{words("agents.as_reported")}</span>
      </span>
    );
  }
  if (agents.length === 0) return <span className="dim">{words("agents.none")}</span>;
  return (
    <span className="row wraps">
      {agents.map((agent) => {
        const { mark, word } = saidOfAgent(agent);
        return (
          <span key={agent.kind} className="row tight" title={`${agent.kind}: ${word}`}>
            <Mark state={mark} label={word} />
            <span className={agent.ready ? "" : "mid"}>{agent.kind}</span>
          </span>
        );
      })}
    </span>
  );
}
