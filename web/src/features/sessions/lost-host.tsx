// Why a session's host cannot be reached, and since when.
import type { ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { useNow } from "../../design/ago.tsx";
import { ago } from "../../words/times.ts";
import { words } from "../../words/words.ts";

export function LostHost({ instanceId }: { instanceId: string }): ReactNode {
  const now = useNow(5_000);
  const { data: host } = useRead("get_instance", { instanceId });
  switch (host?.statusReason) {
    case "link_lost":
      return (
        host.lastSeenAt !== null &&
        ` ${words("host.link_lost", { ago: ago(host.lastSeenAt, now) })}.`
      );
    case "daemon_stopped":
    case "daemon_stalled":
      return ` ${words(`host.${host.statusReason}`)}.`;
    case "duplicate_host":
      return ` ${words("host.duplicate_host")}`;
    default:
      return null;
  }
}
