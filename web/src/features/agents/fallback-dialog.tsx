// Edits the order of a host's agents, with buttons and with keys. Nothing is stored before Save.
import type { InstanceDetail } from "@hawser/client";
import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode, type SubmitEvent } from "react";
import { Refused } from "../../calls/refused.ts";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";
import { kinds, moved, type Draft } from "./fallback.ts";
import { ModelPick } from "./model-pick.tsx";

export function FallbackDialog({
  host,
  onClose,
}: {
  host: InstanceDetail;
  onClose: () => void;
}): ReactNode {
  const { instanceId } = host;
  const [entries, setEntries] = useState<Draft[]>(() =>
    host.fallbackChain.map((entry, id) => ({ ...entry, id })),
  );
  const [threshold, setThreshold] = useState(host.fallbackThreshold);
  const [said, setSaid] = useState("");
  const list = useRef<HTMLOListElement>(null);
  // A row that moves keeps the focus, which the browser takes from a moved element.
  const [kept, setKept] = useState<{ id: number }>();
  useEffect(() => {
    if (kept) list.current?.querySelector<HTMLElement>(`[data-id="${kept.id}"]`)?.focus();
  }, [kept]);
  const save = useChange("set_fallback_chain", ["get_instance"]);
  const wrong = save.error instanceof Refused ? save.error.wrong("threshold") : undefined;

  const move = (from: number, by: number) => {
    const next = moved(entries, from, by);
    if (!next) return;
    setEntries(next);
    setSaid(words("fallback.moved", { n: from + by + 1, total: next.length }));
    setKept({ id: entries[from]!.id });
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const chain = entries.map(({ id: _id, ...entry }) => entry);
    save.mutate({ instanceId, chain, threshold }, { onSuccess: onClose });
  };
  const missing = kinds.filter((kind) => !entries.some((entry) => entry.kind === kind));
  return (
    <form onSubmit={submit}>
      <Dialog
        title={words("fallback")}
        onClose={onClose}
        footer={
          <>
            <span className="push" />
            <button type="button" className="btn" onClick={onClose}>
              {words("cancel")}
            </button>
            <button type="submit" className="btn primary" disabled={save.isPending}>
              {words("save")}
            </button>
          </>
        }
      >
        <p className="mid">{words("fallback.what")}</p>
        {entries.length > 0 && (
          <ol ref={list} className="group" aria-label={words("fallback.order")}>
            {entries.map((entry, index) => (
              <li
                key={entry.id}
                data-id={entry.id}
                className="line inside"
                tabIndex={0}
                aria-label={words("fallback.place", {
                  kind: entry.kind,
                  n: index + 1,
                  total: entries.length,
                })}
                onKeyDown={(event) => {
                  if (!event.altKey || !/^Arrow(?:Up|Down)$/.test(event.key)) return;
                  event.preventDefault();
                  move(index, event.key === "ArrowUp" ? -1 : 1);
                }}
              >
                <span className="dim">{index + 1}</span>
                <div className="grow">
                  <span className="medium">{entry.kind}</span>
                  <ModelPick
                    host={host}
                    entry={entry}
                    onPick={(model) =>
                      setEntries(
                        entries.map((each) => (each === entry ? { ...each, ...model } : each)),
                      )
                    }
                  />
                </div>
                <button
                  type="button"
                  className="btn bare sq"
                  aria-label={words("fallback.up", { kind: entry.kind })}
                  disabled={index === 0}
                  onClick={() => move(index, -1)}
                >
                  <ArrowUp className="icon s" aria-hidden />
                </button>
                <button
                  type="button"
                  className="btn bare sq"
                  aria-label={words("fallback.down", { kind: entry.kind })}
                  disabled={index === entries.length - 1}
                  onClick={() => move(index, 1)}
                >
                  <ArrowDown className="icon s" aria-hidden />
                </button>
                <button
                  type="button"
                  className="btn bare sq"
                  aria-label={words("fallback.remove", { kind: entry.kind })}
                  onClick={() => setEntries(entries.filter((each) => each !== entry))}
                >
                  <X className="icon s" aria-hidden />
                </button>
              </li>
            ))}
          </ol>
        )}
        <p className="sr" role="status">
          {said}
        </p>
        <div className="row wraps">
          {missing.map((kind) => (
            <button
              key={kind}
              type="button"
              className="btn sm"
              onClick={() => {
                const id = Math.max(-1, ...entries.map((each) => each.id)) + 1;
                setEntries([...entries, { id, kind, providerId: null, modelId: null }]);
              }}
            >
              <Plus className="icon s" aria-hidden /> {words("fallback.add", { kind })}
            </button>
          ))}
        </div>
        {entries.length > 1 && (
          <Field
            label={words("fallback.threshold")}
            hint={words("fallback.threshold.hint")}
            wrong={wrong}
            type="number"
            min={1}
            max={100}
            required
            value={Number.isNaN(threshold) ? "" : threshold}
            onChange={({ target }) => setThreshold(target.valueAsNumber)}
          />
        )}
        <p className="dim small">
          {words(entries.length === 0 ? "fallback.empty" : "fallback.keys")}
        </p>
        {save.error && wrong === undefined && <Failure error={save.error} />}
      </Dialog>
    </form>
  );
}
