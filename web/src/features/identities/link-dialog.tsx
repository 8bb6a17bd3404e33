// Links an API key, a gateway or a cloud account. The secret is sealed for the host in this browser: only the host can
// open it, and only for this person and these fields.
import type { AgentIdentity, InstanceDetail } from "@hawser/client";
import { seal } from "@hawser/contract/seal.ts";
import { useEffect, useState, type ReactNode, type SubmitEvent } from "react";
import type { Input, Result } from "../../calls/call.ts";
import { Refused } from "../../calls/refused.ts";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";

type SealingKey = NonNullable<Result<"list_agent_identities">["sealingKey"]>;
type Way = Input<"link_agent_identity">["way"];
type Named = "baseUrl" | "region" | "projectId";

const waysOf: Record<AgentIdentity["kind"], readonly Way[]> = {
  claude_code: ["api_key", "gateway", "bedrock", "vertex"],
  codex: ["api_key", "gateway", "bedrock"],
};

const fieldsOf: Record<Way, readonly Named[]> = {
  api_key: [],
  gateway: ["baseUrl"],
  bedrock: ["region"],
  vertex: ["region", "projectId"],
};

export function LinkDialog({
  host: { instanceId, name },
  kind,
  userId,
  sealingKey,
  onClose,
}: {
  host: InstanceDetail;
  kind: AgentIdentity["kind"];
  userId: string;
  sealingKey: SealingKey;
  onClose: () => void;
}): ReactNode {
  const [way, setWay] = useState<Way>("api_key");
  const [unsealed, setUnsealed] = useState<unknown>();
  const link = useChange("link_agent_identity", ["list_agent_identities", "get_instance"]);
  const fingerprint = useFingerprint(sealingKey);
  const wrongOf = (field: string) =>
    link.error instanceof Refused ? link.error.wrong(field) : undefined;
  const isShownAtField = fieldsOf[way].some((field) => wrongOf(field) !== undefined);

  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => (form.get(field) as string).trim();
    const named = Object.fromEntries(fieldsOf[way].map((field) => [field, text(field)]));
    setUnsealed(undefined);
    seal(sealingKey, { userId, kind, way, ...named, secret: text("secret") }).then(
      (sealedSecret) =>
        link.mutate({ instanceId, kind, way, ...named, sealedSecret }, { onSuccess: onClose }),
      setUnsealed,
    );
  };
  return (
    <form onSubmit={submit}>
      <Dialog
        title={words("link.title", { kind: kindName(kind), name })}
        onClose={onClose}
        footer={
          <>
            <span className="push" />
            <button type="button" className="btn" onClick={onClose}>
              {words("cancel")}
            </button>
            <button type="submit" className="btn primary" disabled={link.isPending}>
              {words("link.link")}
            </button>
          </>
        }
      >
        <fieldset className="ways">
          <legend>{words("link.way")}</legend>
          {waysOf[kind].map((each) => (
            <label key={each} className="row">
              <input
                type="radio"
                name="way"
                value={each}
                checked={way === each}
                onChange={() => {
                  link.reset();
                  setWay(each);
                }}
              />{" "}
              {words(`way.${each}`)}
            </label>
          ))}
        </fieldset>
        {fieldsOf[way].map((field) => (
          <Field
            key={field}
            label={words(`link.${field}`)}
            wrong={wrongOf(field)}
            name={field}
            required
            autoComplete="off"
            spellCheck={false}
          />
        ))}
        {way === "vertex" ? (
          <label className="field">
            <span>{words("link.credentials")}</span>
            <textarea className="input tall mono" name="secret" required spellCheck={false} />
          </label>
        ) : (
          <Field
            key={way}
            label={words(way === "gateway" ? "link.token" : "link.key")}
            name="secret"
            type="password"
            required
            autoComplete="off"
          />
        )}
        <p className="dim small">
          {words("link.sealed")}{" "}
          {fingerprint !== undefined && (
            <>
              {words("link.fingerprint")} <span className="rule breaks">{fingerprint}</span>
            </>
          )}
        </p>
        <p className="dim small">{words("link.replaces")}</p>
        {unsealed !== undefined && <Failure error={unsealed} />}
        {link.error && !isShownAtField && <Failure error={link.error} />}
      </Dialog>
    </form>
  );
}

/** What `hawserd status` prints for the same key (RFC 7638). */
function useFingerprint({ e, kty, n }: SealingKey): string | undefined {
  const [fingerprint, setFingerprint] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    const named = new TextEncoder().encode(JSON.stringify({ e, kty, n }));
    const read = async () => {
      const hash = await crypto.subtle.digest("SHA-256", named);
      const text = btoa(String.fromCharCode(...new Uint8Array(hash)));
      if (isCurrent)
        setFingerprint(text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""));
    };
    void read();
    return () => void (isCurrent = false);
  }, [e, kty, n]);
  return fingerprint;
}
