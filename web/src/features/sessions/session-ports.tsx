// The ports on which servers of a session listen, each with a preview. Nothing is shown while nothing listens.
import type { Session } from "@hawser/client";
import { useState, type ReactNode } from "react";
import { useChange, useRead } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Copyable } from "../../design/copyable.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Plain } from "../../design/plain.tsx";
import { exactly } from "../../words/times.ts";
import { words } from "../../words/words.ts";
import { WebLink } from "./web-link.tsx";

export function SessionPorts({ session: { sessionId } }: { session: Session }): ReactNode {
  const { data } = useRead("list_session_ports", { sessionId });
  const mayEdit = useMay("sessions:edit");
  const [port, setPort] = useState<number>();
  if (!data || data.ports.length === 0) return null;
  return (
    <>
      <h2 className="kv-h">{words("ports")}</h2>
      <dl className="kv">
        {data.ports.map((each) => (
          <div key={each.port} className="kv-row">
            <dt className="mono">{each.port}</dt>
            <dd className="row">
              <span className="cut">{each.program !== null && <Plain text={each.program} />}</span>
              {mayEdit && (
                <button type="button" className="btn sm push" onClick={() => setPort(each.port)}>
                  {words("preview")}
                </button>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {port !== undefined && (
        <PreviewDialog sessionId={sessionId} port={port} onClose={() => setPort(undefined)} />
      )}
    </>
  );
}

const lifetimes = [60, 480, 1440] as const;

function PreviewDialog({
  sessionId,
  port,
  onClose,
}: {
  sessionId: string;
  port: number;
  onClose: () => void;
}): ReactNode {
  const [ttlMinutes, setTtl] = useState<(typeof lifetimes)[number]>(60);
  const create = useChange("create_preview", ["list_exposures"]);
  const made = create.data;
  return (
    <Dialog
      title={words("preview.title", { port })}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn" onClick={onClose}>
            {words(made ? "close" : "cancel")}
          </button>
          {!made && (
            <button
              type="button"
              className="btn primary"
              disabled={create.isPending}
              onClick={() => create.mutate({ sessionId, port, ttlMinutes })}
            >
              {words("preview.open")}
            </button>
          )}
        </>
      }
    >
      {made ? (
        <>
          <WebLink address={made.url} />
          <p>{words("preview.login")}</p>
          <Copyable text={made.username} />
          <Copyable text={made.password} />
          <p className="mid">{words("preview.until", { time: exactly(made.expiresAt) })}</p>
        </>
      ) : (
        <fieldset className="choices">
          <legend>{words("preview.how_long")}</legend>
          {lifetimes.map((minutes) => (
            <label key={minutes}>
              <input
                type="radio"
                name="ttl"
                checked={minutes === ttlMinutes}
                onChange={() => setTtl(minutes)}
              />
              {words("preview.hours", { n: minutes / 60 })}
            </label>
          ))}
        </fieldset>
      )}
      {create.isError && <Failure error={create.error} />}
    </Dialog>
  );
}
