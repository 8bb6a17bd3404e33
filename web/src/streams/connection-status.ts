// What the page says about its connection: the sidebar's foot, and the strip with the time of the last truth. A short
// break shows nothing, because most are over before a person could read of them.
import type { ConnectionState } from "./connection.ts";

export type ConnectionStatus =
  | { shows: "live" }
  /** The foot says "Reconnecting"; with `strip` a strip says since when. */
  | { shows: "reconnecting"; since: number | undefined; strip: boolean }
  | { shows: "refused"; status: number; code: string | undefined };

const footMs = 2_000;
const stripMs = 5_000;

export interface ConnectionStatusStore {
  set: (state: ConnectionState) => void;
  get: () => ConnectionStatus;
  /** For `useSyncExternalStore`. */
  subscribe: (onChange: () => void) => () => void;
}

export function createConnectionStatus({
  footAfterMs = footMs,
  stripAfterMs = stripMs,
} = {}): ConnectionStatusStore {
  const listeners = new Set<() => void>();
  let status: ConnectionStatus = { shows: "live" };
  let timers: ReturnType<typeof setTimeout>[] = [];
  let isBroken = false;
  const show = (next: ConnectionStatus) => {
    status = next;
    for (const listener of listeners) listener();
  };
  const clear = () => {
    for (const timer of timers) clearTimeout(timer);
    timers = [];
  };
  return {
    set(state) {
      if (state.is === "connecting") {
        // Attempts follow each other within one break.
        if (isBroken) return;
        isBroken = true;
        const { since } = state;
        timers = [false, true].map((strip) =>
          setTimeout(
            () => show({ shows: "reconnecting", since, strip }),
            strip ? stripAfterMs : footAfterMs,
          ),
        );
        return;
      }
      clear();
      isBroken = false;
      if (state.is === "refused") {
        show({ shows: "refused", status: state.status, code: state.code });
      } else if (status.shows !== "live") {
        show({ shows: "live" });
      }
    },
    get: () => status,
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}
