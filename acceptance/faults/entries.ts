// The sessions of a run: their entries are appended to the hosts' journals in small groups, over the whole
// time of the fault. No entry is written twice, so a repeated entry is a fault of the product.
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import type { Bed, BedHost } from "./bed.ts";
import type { History } from "./history.ts";

const largestGroup = 12;
const longTextBytes = 20_000;

/** Writes `count` entries within this many milliseconds. */
export async function writeEntries(
  bed: Bed,
  random: Random,
  count: number,
  milliseconds: number,
  appended: History["appended"],
): Promise<void> {
  const share = Math.ceil(count / bed.hosts.length);
  const writing = bed.hosts.map((each, index) => {
    const own = Math.max(0, Math.min(share, count - index * share));
    return writeHost(each, random, own, milliseconds, appended);
  });
  await Promise.all(writing);
}

async function writeHost(
  { host, sessionIds }: BedHost,
  random: Random,
  count: number,
  milliseconds: number,
  appended: History["appended"],
): Promise<void> {
  const started = performance.now();
  for (let written = 0; written < count;) {
    const due = started + (milliseconds * written) / count;
    await sleep(Math.max(0, due - performance.now()));
    // Sessions of a dead host wait until it runs again.
    if (!host.isAlive()) {
      await sleep(20);
      continue;
    }
    const sessionId = random.pick(sessionIds);
    const size = Math.min(1 + random.below(largestGroup), count - written);
    const messageIds = Array.from({ length: size }, (_, i) => `${sessionId} ${written + i}`);
    written += size;
    const updates = messageIds.map((messageId) => makeUpdate(messageId, random));
    try {
      const numbers = await host.append(sessionId, updates);
      for (const [i, seq] of numbers.entries()) {
        appended.push({ sessionId, seq, messageId: messageIds[i]! });
      }
    } catch {
      // The host was killed meanwhile. Its journal shows how many entries it wrote.
    }
  }
}

function makeUpdate(messageId: string, random: Random) {
  const text = random.oneIn(20) ? "x".repeat(random.below(longTextBytes)) : `said ${messageId}`;
  return {
    sessionUpdate: "agent_message_chunk",
    messageId,
    content: { type: "text", text },
  };
}
