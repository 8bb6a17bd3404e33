// Keys as they are printed on keyboards.
import { Fragment, type ReactNode } from "react";
import { acts, type ActId } from "./acts.ts";
import { keyNames } from "./browser.ts";

/** The keys of an act, one after the other. Nothing if it has none. */
export function Keys({ of: act, all = false }: { of: ActId; all?: boolean }): ReactNode {
  const keys = acts[act].keys.slice(0, all ? undefined : 1);
  return keys.map((key) => (
    <Fragment key={key}>
      {keyNames(key).map((name) => (
        <kbd key={name} className="key">
          {name}
        </kbd>
      ))}
    </Fragment>
  ));
}
