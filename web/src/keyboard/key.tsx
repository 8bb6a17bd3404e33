// Keys as they are printed on keyboards.
import { Fragment, type ReactNode } from "react";
import { words } from "../words/words.ts";
import type { ActId } from "./acts.ts";
import { keyNames } from "./browser.ts";
import { workingKeys } from "./keyboard.ts";
import { useHasSingleKeys } from "./use-act.ts";

/** The first key of an act, or all of them. Nothing if none works. */
export function Keys({ of: act, all = false }: { of: ActId; all?: boolean }): ReactNode {
  const hasSingleKeys = useHasSingleKeys();
  const keys = workingKeys(act, hasSingleKeys).slice(0, all ? undefined : 1);
  return keys.map((key, at) => (
    <Fragment key={key}>
      {at > 0 && <span className="dim"> {words("keys.or")} </span>}
      {keyNames(key).map((name) => (
        <kbd key={name} className="key">
          {name}
        </kbd>
      ))}
    </Fragment>
  ));
}
