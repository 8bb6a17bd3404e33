// Pairing a host: a name, one command, and what has happened of it. It can be closed at any time; the list goes on.
import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode, type SubmitEvent } from "react";
import { Refused } from "../../calls/refused.ts";
import type { Result } from "../../calls/call.ts";
import { read, useChange } from "../../calls/use-call.ts";
import { useNow } from "../../design/ago.tsx";
import { Copyable } from "../../design/copyable.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { Rope } from "../../design/rope.tsx";
import { Step, Steps } from "../../design/steps.tsx";
import { words } from "../../words/words.ts";

type Order = Pick<Result<"create_instance">, "installCommand" | "pairingTokenExpiresAt">;

interface Pairing {
  instanceId: string;
  name: string;
}

/** `pairing`: the host that gets a new command. Without it, the dialog asks for a name and makes a host. */
export function PairDialog({
  pairing: given,
  onClose,
}: {
  pairing?: Pairing;
  onClose: () => void;
}): ReactNode {
  const [pairing, setPairing] = useState(given);
  const [order, setOrder] = useState<Order>();
  const create = useChange("create_instance", ["search_instances"]);
  const renew = useChange("regenerate_pairing_token", ["search_instances"]);

  if (!pairing || !order) {
    const problem = create.error ?? renew.error;
    const name = (event: SubmitEvent<HTMLFormElement>) => {
      event.preventDefault();
      if (pairing) {
        renew.mutate({ instanceId: pairing.instanceId }, { onSuccess: setOrder });
        return;
      }
      const name = (new FormData(event.currentTarget).get("name") as string).trim();
      create.mutate(
        { name },
        {
          onSuccess(made) {
            setPairing({ instanceId: made.instance.instanceId, name: made.instance.name });
            setOrder(made);
          },
        },
      );
    };
    const wrong = problem instanceof Refused ? problem.wrong("name") : undefined;
    return (
      <form onSubmit={name}>
        <Dialog
          title={pairing ? words("pair.title", { name: pairing.name }) : words("pair.open")}
          onClose={onClose}
          footer={
            <>
              <span className="push" />
              <button type="button" className="btn" onClick={onClose}>
                {words("cancel")}
              </button>
              <button
                type="submit"
                className="btn primary"
                disabled={create.isPending || renew.isPending}
              >
                {words("pair.create")}
              </button>
            </>
          }
        >
          {pairing ? (
            <p className="mid">{words("pair.again")}</p>
          ) : (
            <Field
              label={words("pair.name")}
              hint={words("pair.name.hint")}
              wrong={wrong}
              name="name"
              required
              maxLength={100}
              autoComplete="off"
            />
          )}
          {problem && wrong === undefined && <Failure error={problem} />}
        </Dialog>
      </form>
    );
  }
  return (
    <PairingSteps
      pairing={pairing}
      order={order}
      onClose={onClose}
      onRenew={() => renew.mutate({ instanceId: pairing.instanceId }, { onSuccess: setOrder })}
      problem={renew.error}
    />
  );
}

function PairingSteps({
  pairing,
  order,
  onClose,
  onRenew,
  problem,
}: {
  pairing: Pairing;
  order: Order;
  onClose: () => void;
  onRenew: () => void;
  problem: Error | null;
}): ReactNode {
  const now = useNow(1_000);
  const [isStuck, setIsStuck] = useState(false);
  const { data: host } = useQuery({
    ...read("get_instance", { instanceId: pairing.instanceId }),
    // Somebody looks at it, and waits.
    refetchInterval: 2_000,
  });
  const leftMs = Date.parse(order.pairingTokenExpiresAt) - now;
  const isOnline = host?.status === "online";
  const hasAnswered = host !== undefined && host.status !== "pairing";
  const rope = isOnline ? "online" : hasAnswered ? "paired" : "waiting";
  return (
    <Dialog
      title={words("pair.title", { name: pairing.name })}
      onClose={onClose}
      footer={
        isOnline ? (
          <>
            <span className="push" />
            <Link
              className="btn primary"
              to="/hosts/$instanceId"
              params={{ instanceId: pairing.instanceId }}
            >
              {words("pair.open_host")}
            </Link>
          </>
        ) : (
          <>
            <button type="button" className="link" onClick={() => setIsStuck(!isStuck)}>
              {words(isStuck ? "pair.back" : "pair.stuck")}
            </button>
            <span className="push" />
            {isStuck || leftMs <= 0 ? (
              <button type="button" className="btn" onClick={onRenew}>
                {words("pair.renew")}
              </button>
            ) : (
              <button type="button" className="btn" onClick={onClose}>
                {words("close")}
              </button>
            )}
          </>
        )
      }
    >
      <Rope state={rope} label={words(`rope.${rope}`)} ends={[words("product"), pairing.name]} />
      {problem && <Failure error={problem} />}
      {isStuck && !hasAnswered ? (
        <Stuck />
      ) : (
        <>
          {!hasAnswered && (
            <>
              <p className="mid">{words("pair.run")}</p>
              <Copyable text={order.installCommand} />
            </>
          )}
          <Steps>
            <Step
              state={hasAnswered ? "ok" : "now"}
              title={words(hasAnswered ? "pair.answered" : "pair.waiting")}
              aside={hasAnswered ? undefined : timeLeft(leftMs)}
            >
              {host?.host
                ? `${host.host.hostname}, ${host.host.os}, ${host.host.arch}`
                : words(leftMs > 0 ? "pair.may_close" : "pair.expired")}
            </Step>
            <Step
              state={isOnline ? "ok" : hasAnswered ? "now" : "next"}
              title={words("host.online")}
            >
              {isOnline && foundOn(host)}
            </Step>
          </Steps>
        </>
      )}
    </Dialog>
  );
}

function Stuck(): ReactNode {
  const server = location.origin;
  return (
    <>
      <p className="mid">{words("stuck.about")}</p>
      <Steps>
        <Step number={1} title={words("stuck.command")}>
          {words("stuck.command.what")}
        </Step>
        <Step number={2} title={words("stuck.reach", { host: location.host })}>
          {words("stuck.reach.what")} <span className="rule">curl -I {server}/healthz</span>
        </Step>
        <Step number={3} title={words("stuck.old")}>
          {words("stuck.old.what")}
        </Step>
      </Steps>
    </>
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
