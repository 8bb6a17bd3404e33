// Acts in components: registered for as long as the component is shown.
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { ActId } from "./acts.ts";
import { keyboard, singleKeys } from "./browser.ts";
import type { Run } from "./keyboard.ts";

/** The act is registered while `isPossible`. */
export function useAct(act: ActId, run: Run, isPossible = true): void {
  const doIt = useEffectEvent(run);
  useEffect(
    () => (isPossible ? keyboard.add(act, (key) => doIt(key)) : undefined),
    [act, isPossible],
  );
}

/** What can be done on this page now. */
export const useActs = (): readonly ActId[] =>
  useSyncExternalStore(keyboard.subscribe, keyboard.active);

export const useHasSingleKeys = (): boolean =>
  useSyncExternalStore(singleKeys.subscribe, singleKeys.get);
