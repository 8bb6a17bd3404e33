// Makes a new session that continues this one, with another agent if wanted.
import type { Session } from "@hawser/client";
import { useNavigate } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { useHost } from "../../calls/use-host.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";

const modes = ["full", "compress"] as const;

export function ForkDialog({
  session: { sessionId, instanceId, agentKind, reachable },
  onClose,
}: {
  session: Session;
  onClose: () => void;
}): ReactNode {
  const navigate = useNavigate();
  const kinds = (useHost(instanceId)?.agents ?? [])
    .filter(({ ready }) => ready)
    .map(({ kind }) => kind);
  const [chosen, setKind] = useState(agentKind);
  const kind = kinds.includes(chosen) ? chosen : kinds[0];
  const [mode, setMode] = useState<(typeof modes)[number]>("full");
  const fork = useChange("fork_session", ["search_sessions"]);
  const start = () => {
    if (kind === undefined) return;
    fork.mutate(
      { sessionId, agentKind: kind, mode },
      {
        onSuccess: (made) =>
          void navigate({ to: "/sessions/$sessionId", params: { sessionId: made.sessionId } }),
      },
    );
  };
  return (
    <Dialog
      title={words("fork.title")}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn" onClick={onClose}>
            {words("cancel")}
          </button>
          <button
            type="button"
            className="btn primary"
            disabled={fork.isPending || !reachable || kind === undefined}
            onClick={start}
          >
            {words(fork.isPending ? "fork.starting" : "fork")}
          </button>
        </>
      }
    >
      <p className="mid">{words("fork.what")}</p>
      <fieldset className="choices">
        <legend>{words("fork.kind")}</legend>
        {kinds.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="kind"
              checked={each === kind}
              onChange={() => setKind(each)}
            />
            {kindName(each)}
          </label>
        ))}
      </fieldset>
      <fieldset className="choices">
        <legend>{words("fork.mode")}</legend>
        {modes.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="mode"
              checked={each === mode}
              onChange={() => setMode(each)}
            />
            {words(`fork.${each}`)}
          </label>
        ))}
      </fieldset>
      {!reachable && <p className="mid">{words("fork.offline")}</p>}
      {fork.isError && <Failure error={fork.error} />}
    </Dialog>
  );
}
