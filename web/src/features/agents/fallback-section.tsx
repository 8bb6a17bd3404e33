// Which agent a host's new sessions use, and which ones follow if it is over its quota or not ready.
import type { InstanceDetail } from "@hawser/client";
import { useState, type ReactNode } from "react";
import { useMay } from "../../calls/use-may.ts";
import { Plain } from "../../design/plain.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";
import { FallbackDialog } from "./fallback-dialog.tsx";
import { defaultKindOf } from "./fallback.ts";

export function FallbackSection({ host }: { host: InstanceDetail }): ReactNode {
  const mayEdit = useMay("settings:edit");
  const [isEditing, setIsEditing] = useState(false);
  const { fallbackChain: chain, fallbackThreshold: percent } = host;
  const preferred = defaultKindOf(host);
  return (
    <section className="sec">
      <header>
        <h2>{words("fallback")}</h2>
        {mayEdit && (
          <button type="button" className="btn sm push" onClick={() => setIsEditing(true)}>
            {words("fallback.change")}
          </button>
        )}
      </header>
      <ol className="group">
        {chain.length === 0 && (
          <li className="line dim">
            {preferred === undefined
              ? words("fallback.off.none")
              : words("fallback.off", { kind: kindName(preferred) })}
          </li>
        )}
        {chain.map(({ kind, modelId }, index) => (
          <li key={index} className="line">
            <span className="dim">{index + 1}</span>
            <div className="grow">
              {kind}
              {modelId !== null && (
                <span className="sub">
                  <Plain text={modelId} />
                </span>
              )}
            </div>
            {index < chain.length - 1 && (
              <span className="dim small">{words("fallback.until", { percent })}</span>
            )}
          </li>
        ))}
      </ol>
      {isEditing && <FallbackDialog host={host} onClose={() => setIsEditing(false)} />}
    </section>
  );
}
