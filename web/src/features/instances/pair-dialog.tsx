// Pairing a host: a name, one command, and what has happened of it. It can be closed at any time; the list goes on.
import { useState, type ReactNode, type SubmitEvent } from "react";
import { Refused } from "../../calls/refused.ts";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";
import type { Order } from "./pairing-stage.ts";
import { PairingSteps } from "./pairing-steps.tsx";

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
      // A new command begins again.
      key={order.pairingTokenExpiresAt}
      pairing={pairing}
      order={order}
      onClose={onClose}
      onRenew={() => renew.mutate({ instanceId: pairing.instanceId }, { onSuccess: setOrder })}
      problem={renew.error}
    />
  );
}
