// One host in its own process: the daemon's real journal, link, commands and reports, without agents.
// journal-host.ts sends it the sessions' entries over IPC. It is paired at its first start.
import { startHost } from "@hawser/daemon/host.ts";
import { pairHost } from "@hawser/daemon/link/doors.ts";
import { createLog } from "@hawser/daemon/log.ts";
import { openState } from "@hawser/daemon/state/state.ts";
import type { JournalOrder } from "./journal-host.ts";
import { serveOrders } from "./orders.ts";

const [directory, serverUrl, token] = process.argv.slice(2) as [string, string?, string?];
const state = openState(directory);
if (serverUrl && token) await pairHost(state, serverUrl, token);
const host = startHost({ state, log: createLog((line) => process.stderr.write(line)) });

const orders = {
  append: ({ sessionId, updates }: JournalOrder["append"]) =>
    updates.map((update) => host.appendEntry(sessionId, update).seq),
  waiting: () => host.journal.log.unappliedSessions().length,
};

serveOrders(orders);
