// What a host's record says, as a mark, a word, and a sentence. Nothing is drawn as online or ready unless the record
// says so now.
import type { Instance } from "@hawser/client";
import type { MarkState } from "../../design/mark.tsx";
import { ago } from "../../words/times.ts";
import { words } from "../../words/words.ts";

export interface Said {
  mark: MarkState;
  word: string;
  /** More about it; undefined if the word says all. */
  detail?: string;
}

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

type Agent = Instance["agents"][number];

/** What an agent of an online host says. Of another host nothing is known now. */
export function saidOfAgent({ installed, ready, problems }: Agent): Said {
  if (!installed) return { mark: "off", word: words("agent.not_installed") };
  if (ready) return { mark: "on", word: words("agent.ready") };
  const [problem] = problems;
  if (problem?.code === "not_logged_in") {
    return { mark: "ask", word: words("agent.not_logged_in"), detail: problem.message };
  }
  return {
    mark: "err",
    word: words("agent.not_ready"),
    ...(problem && { detail: problem.message }),
  };
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
