// The map of keys: what each does on this page, as the page has registered it. And whether single keys do anything.
import "../design/palette.css";
import { useId, type ReactNode } from "react";
import { Dialog } from "../design/dialog.tsx";
import {
  acts,
  areas,
  Keys,
  singleKeys,
  useActs,
  useHasSingleKeys,
  workingKeys,
} from "../keyboard/index.ts";
import { words } from "../words/words.ts";

export function KeyMap({ onClose }: { onClose: () => void }): ReactNode {
  const possible = useActs();
  const isOn = useHasSingleKeys();
  const whyId = useId();
  return (
    <Dialog title={words("keys.title")} onClose={onClose}>
      {areas.map((area) => {
        const here = possible.filter(
          (id) => acts[id].area === area && workingKeys(id, isOn).length > 0,
        );
        if (here.length === 0) return null;
        return (
          <section key={area} className="key-map" aria-label={words(`keys.${area}`)}>
            <h3>{words(`keys.${area}`)}</h3>
            <dl>
              {here.map((id) => (
                <div key={id}>
                  <dt>{words(`key.${id}`)}</dt>
                  <dd>
                    <Keys of={id} all />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        );
      })}
      <label className="check">
        <input
          type="checkbox"
          checked={isOn}
          aria-describedby={whyId}
          onChange={(event) => singleKeys.set(event.target.checked)}
        />
        <span>{words("keys.single")}</span>
      </label>
      <p className="dim" id={whyId}>
        {words("keys.single.why")}
      </p>
    </Dialog>
  );
}
