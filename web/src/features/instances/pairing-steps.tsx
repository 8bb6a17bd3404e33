// What has happened of a pairing: the command, three steps that change by themselves, and what to look at if no machine
// comes. Once the host is online, what it installs, and the way to a session there.
import type { InstanceDetail } from "@hawser/client";
import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { Result } from "../../calls/call.ts";
import { read } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { useNow } from "../../design/ago.tsx";
import { Copyable } from "../../design/copyable.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { plainText } from "../../design/plain.tsx";
import { Rope } from "../../design/rope.tsx";
import { Step, Steps } from "../../design/steps.tsx";
import { words } from "../../words/words.ts";
import { AgentLine } from "../agents/index.ts";
import { stageOf, type Order } from "./pairing-stage.ts";
import { StartHere } from "./start-here.tsx";
import { Stuck } from "./stuck.tsx";

/** Without a call for this long, the dialog shows what to look at. */
const patienceMs = 60_000;

export function PairingSteps({
  pairing: { instanceId, name },
  order,
  onClose,
  onRenew,
  problem,
}: {
  pairing: { instanceId: string; name: string };
  order: Order;
  onClose: () => void;
  onRenew: () => void;
  problem: Error | null;
}): ReactNode {
  const now = useNow(1_000);
  const [openedAt] = useState(now);
  const [hasAsked, setHasAsked] = useState(false);
  const mayStart = useMay("sessions:edit");
  const { data: host } = useQuery({
    ...read("get_instance", { instanceId }),
    // Somebody looks at it, and waits.
    refetchInterval: 2_000,
  });
  const leftMs = Date.parse(order.pairingTokenExpiresAt) - now;
  const stage = stageOf(host, order);
  const isWaiting = stage === "waiting";
  const isOnline = stage === "online";
  const isStuck = isWaiting && (hasAsked || now - openedAt >= patienceMs || leftMs <= 0);
  return (
    <Dialog
      title={words("pair.title", { name })}
      onClose={onClose}
      footer={
        isOnline ? (
          <>
            <Link
              className={mayStart ? "btn bare" : "btn primary push"}
              to="/hosts/$instanceId"
              params={{ instanceId }}
              onClick={onClose}
            >
              {words("pair.open_host")}
            </Link>
            <span className="push" />
            {mayStart && <StartHere instanceId={instanceId} label={words("pair.start")} />}
          </>
        ) : (
          <>
            {isWaiting && !isStuck && (
              <button type="button" className="link" onClick={() => setHasAsked(true)}>
                {words("pair.stuck")}
              </button>
            )}
            <span className="push" />
            {isStuck && (
              <button type="button" className="btn" onClick={onRenew}>
                {words("pair.renew")}
              </button>
            )}
            <button type="button" className="btn" onClick={onClose}>
              {words("close")}
            </button>
          </>
        )
      }
    >
      <Rope state={stage} label={words(`rope.${stage}`)} ends={[words("product"), name]} />
      {problem && <Failure error={problem} />}
      {isWaiting && leftMs > 0 && (
        <>
          <p className="mid">{words("pair.run")}</p>
          <Copyable text={order.installCommand} />
        </>
      )}
      <Steps>
        <Step
          state={isWaiting ? "now" : "ok"}
          title={words(isWaiting ? "pair.waiting" : "pair.answered")}
          aside={isWaiting ? timeLeft(leftMs) : undefined}
        >
          {isWaiting
            ? words(leftMs > 0 ? "pair.may_close" : "pair.expired")
            : isOnline && host?.host
              ? plainText(`${host.host.hostname}, ${host.host.os}, ${host.host.arch}`)
              : undefined}
        </Step>
        <Step state={isOnline ? "ok" : isWaiting ? "next" : "now"} title={words("pair.paired")}>
          {stage === "paired" && words("pair.paired.what")}
        </Step>
        <Step state={isOnline ? "ok" : "next"} title={words("host.online")}>
          {isOnline && host && foundOn(host)}
        </Step>
      </Steps>
      {isStuck && <Stuck />}
      {isOnline && host && <Installs host={host} />}
    </Dialog>
  );
}

/** Agents that are missing or being installed. */
function Installs({ host }: { host: InstanceDetail }): ReactNode {
  const agents = host.agents.filter(
    ({ kind, installed }) =>
      !installed || host.operations.some(({ subject }) => subject.startsWith(`${kind} `)),
  );
  if (agents.length === 0) return null;
  return (
    <div className="group">
      {agents.map((agent) => (
        <AgentLine key={agent.kind} host={host} agent={agent} rest={undefined} />
      ))}
    </div>
  );
}

function timeLeft(ms: number): string | undefined {
  if (ms <= 0) return undefined;
  const seconds = Math.floor(ms / 1000);
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return words("pair.left", { clock });
}

function foundOn({ daemonVersion, agents }: Result<"get_instance">): string {
  const found = agents.filter(({ installed }) => installed);
  const version = daemonVersion ?? "";
  if (found.length === 0) return words("pair.found.none", { version });
  const list = found.map(({ kind, version }) => `${kind} ${version ?? ""}`.trim()).join(", ");
  return words("pair.found", { version, list });
}
