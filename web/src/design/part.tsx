// Parts of the pages that are loaded when they are first shown. After an update the service no longer has the parts of
// the pages that are open; such a part says so in its place, and the rest of the page stays.
import {
  lazy,
  useEffect,
  type ComponentType,
  type LazyExoticComponent,
  type ReactNode,
} from "react";
import { words } from "../words/words.ts";
import { idle } from "./idle.ts";

export type Load = () => Promise<unknown>;

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

/** Loads parts once the page is shown and idle, so that the first press on something does not wait for its code. */
export function useLoadAhead(loads: readonly Load[]): void {
  useEffect(() => {
    let isLeft = false;
    void (async () => {
      for (const load of loads) {
        await idle();
        if (isLeft) return;
        // Whether it can be loaded is seen when it is shown.
        await load().catch(() => {});
      }
    })();
    return () => void (isLeft = true);
  }, [loads]);
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
