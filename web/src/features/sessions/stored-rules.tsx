// The rules that `always` has stored in a session, each with a button that forgets it. Nothing is shown while there are
// none, and with a host that cannot list them.
import type { Session } from "@hawser/client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { keyOf } from "../../calls/keys.ts";
import { useChange, useRead } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Ago } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";

export function StoredRules({
  session: { sessionId },
  rulesSeq,
}: {
  session: Session;
  /** The newest entry of the log that has changed the rules. */
  rulesSeq: number;
}): ReactNode {
  const queries = useQueryClient();
  const mayEdit = useMay("sessions:edit");
  const { data, refetch } = useRead("list_session_rules", { sessionId });
  const forget = useChange("forget_session_rule");
  const seen = useRef(rulesSeq);
  useEffect(() => {
    if (seen.current === rulesSeq) return;
    seen.current = rulesSeq;
    void refetch();
  }, [rulesSeq, refetch]);
  if (!data || data.rules.length === 0) return null;
  return (
    <section aria-label={words("rules")}>
      <h2 className="kv-h">{words("rules")}</h2>
      <ul className="rules">
        {data.rules.map(({ rule, by, at, uses }) => (
          <li key={rule}>
            <code>
              <Plain text={rule} />
            </code>
            <span className="row">
              <span className="dim grow">
                <Plain text={by?.name ?? words("session.somebody")} />
                {at !== null && (
                  <>
                    , <Ago at={at} />
                  </>
                )}{" "}
                · {words("rules.uses", { n: uses })}
              </span>
              {mayEdit && (
                <button
                  type="button"
                  className="btn sm push"
                  aria-label={words("rules.forget.which", { rule })}
                  disabled={forget.isPending}
                  onClick={() =>
                    forget.mutate(
                      { sessionId, rule },
                      {
                        onSuccess: (left) =>
                          queries.setQueryData(keyOf("list_session_rules", { sessionId }), left),
                      },
                    )
                  }
                >
                  {words("rules.forget")}
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {data.truncated && <p className="dim rules-more">{words("rules.truncated")}</p>}
      {forget.isError && <Failure error={forget.error} />}
    </section>
  );
}
