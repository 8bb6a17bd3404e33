// Parts of the pages that are loaded when they are first shown. After an update the service no longer has the parts of
// the pages that are open; such a part says so in its place, and the rest of the page stays.
import { lazy, type ComponentType, type LazyExoticComponent, type ReactNode } from "react";
import { words } from "../words/words.ts";

/** `load` imports the component. */
export function part<Props>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => {
    try {
      return { default: await load() };
    } catch {
      return { default: Gone };
    }
  });
}

function Gone(): ReactNode {
  return (
    <p className="note" role="alert">
      {words("version.gone")}{" "}
      <button type="button" className="btn sm" onClick={() => location.reload()}>
        {words("version.reload")}
      </button>
    </p>
  );
}
