// Steps of scenarios about previews: servers that sessions run, and end again.
import type { BrowserPage } from "@hawser/testkit/browser.ts";
import type { Calls } from "@hawser/testkit/caller.ts";
import { until } from "./scenario.ts";

const startMs = 60_000;

export const portsOf = async (caller: Calls, sessionId: string) =>
  (await caller.list_session_ports({ sessionId })).ports.map(({ port }) => port);

/** Runs a server in a session until `abort_session`. Returns when it listens. */
export async function runServer(caller: Calls, sessionId: string, port: number, command: string) {
  await caller.run_shell({ sessionId, command });
  await until(
    "the server listens",
    startMs,
    () => portsOf(caller, sessionId),
    (ports) => ports.includes(port),
  );
}

/** Ends the servers of a session. */
export async function stopServers(caller: Calls, sessionId: string): Promise<void> {
  await caller.abort_session({ sessionId });
  await until(
    "the server has ended",
    startMs,
    () => portsOf(caller, sessionId),
    (ports) => ports.length === 0,
  );
}

/** Resolves once Vite can tell the page about an edit; an edit from before is lost. Call it before the page is opened. */
export const hotReloadOf = (page: BrowserPage["page"]): Promise<unknown> =>
  page.waitForEvent("console", (message) => message.text().includes("[vite] connected."));
