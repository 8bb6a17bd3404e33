// What a host's record says, as a mark, a word, and a sentence. Nothing is drawn as online or ready unless the record
// says so now.
import type { Instance } from "@hawser/client";
import { ago } from "../../words/times.ts";
import { words } from "../../words/words.ts";
import type { Said } from "../agents/index.ts";

type Stated = Pick<Instance, "status" | "statusReason" | "lastSeenAt">;

export function saidOfHost({ status, statusReason, lastSeenAt }: Stated, now: number): Said {
  const online = { mark: "on", word: words("host.online") } as const;
  const offline = { mark: "off", word: words("host.offline") } as const;
  if (status === "pairing") {
    return { mark: "wait", word: words("host.pairing"), detail: words("host.pairing.detail") };
  }
  switch (statusReason) {
    case null:
      return status === "online" ? online : offline;
    case "draining":
      return { ...online, detail: words("host.draining") };
    case "moving":
      return { ...online, detail: words("host.moving") };
    case "link_lost":
      return {
        ...offline,
        detail:
          lastSeenAt === null
            ? words("host.link_lost.unknown")
            : words("host.link_lost", { ago: ago(lastSeenAt, now) }),
      };
    case "daemon_stopped":
      return { ...offline, detail: words("host.daemon_stopped") };
    case "daemon_stalled":
      return {
        mark: "err",
        word: words("host.not_answering"),
        detail: words("host.daemon_stalled"),
      };
    case "duplicate_host":
      return { ...offline, detail: words("host.duplicate_host") };
    case "revoked":
      return { mark: "end", word: words("host.removed") };
    case "never_paired":
      return { mark: "wait", word: words("host.pairing"), detail: words("host.pairing.detail") };
    default:
      // A later version's reason is shown as it is.
      return { ...offline, detail: statusReason satisfies never };
  }
}

/** Why nothing can be asked of the host now; undefined if it can. */
export function restOf({ name, status }: Pick<Instance, "name" | "status">): string | undefined {
  if (status === "online") return undefined;
  return words(status === "pairing" ? "host.rests.pairing" : "host.rests", { name });
}

/** "3 online, 1 offline": only the states that there are. */
export function summaryOf(hosts: readonly Stated[]): string {
  const counts = { online: 0, stalled: 0, offline: 0, pairing: 0 };
  for (const { status, statusReason } of hosts) {
    counts[status === "offline" && statusReason === "daemon_stalled" ? "stalled" : status] += 1;
  }
  return [
    counts.online > 0 && words("hosts.count.online", { n: counts.online }),
    counts.stalled > 0 && words("hosts.count.stalled", { n: counts.stalled }),
    counts.offline > 0 && words("hosts.count.offline", { n: counts.offline }),
    counts.pairing > 0 && words("hosts.count.pairing", { n: counts.pairing }),
  ]
    .filter((text) => text !== false)
    .join(", ");
}
