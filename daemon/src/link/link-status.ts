// The state of the link as the host's owner sees it. Each change is logged and passed on.
import type { Log } from "../log.ts";
import { unknownHostWarning } from "./forgotten.ts";
import type { ServerClock } from "./server-clock.ts";

export interface LinkStatus {
  state: "connecting" | "online" | "refused" | "forgotten" | "stopped";
  since: string;
  /** Why the host is not online. */
  reason: string | null;
  /** What the host's owner should know, in any state. */
  warning: string | null;
}

export interface StatusKeeper {
  read: () => LinkStatus;
  setState: (state: LinkStatus["state"], reason?: string | null) => void;
  /** Call it with each answer that shows whether the control plane finds this host. */
  setKnown: (isKnown: boolean) => void;
}

export function createLinkStatus(
  clock: Pick<ServerClock, "now">,
  log: Log,
  onStatus: (status: LinkStatus) => void,
): StatusKeeper {
  let status: LinkStatus = {
    state: "connecting",
    since: new Date().toISOString(),
    reason: null,
    warning: null,
  };
  return {
    read: () => status,
    setState(state, reason = null) {
      if (status.state === state && status.reason === reason) return;
      status = { ...status, state, since: new Date(clock.now()).toISOString(), reason };
      log.info("link", { state, reason });
      onStatus(status);
    },
    setKnown(isKnown) {
      const warning = isKnown ? null : unknownHostWarning;
      if (status.warning === warning) return;
      status = { ...status, warning };
      if (isKnown) log.info("the control plane finds this host again");
      else log.warn("the control plane does not find this host", { warning });
      onStatus(status);
    },
  };
}
