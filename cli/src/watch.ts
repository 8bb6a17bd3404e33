// `hawser watch [SESSION]`: follows a session as it works, or the changes of the organization's records. A
// connection that breaks is made again, and the log continues without a gap.
import type { Client } from "@hawser/client";
import type { Command } from "commander";
import { connect, explain, type Connection } from "./connect.ts";
import { createChanges } from "./organization-lines.ts";
import { openScreen } from "./session-screen.ts";
import { dataDirectory, readLogin } from "./settings.ts";
import { printText, safeJson } from "./terminal.ts";

interface Options {
  data?: string;
  json?: boolean;
  fromStart?: boolean;
}

/** How long a lost connection is tried again. */
const patienceMs = 10 * 60_000;
const awayMs = 60_000;
/** How long the last entry of a session that has ended may take to arrive. A host that is gone sends none. */
const lastEntryMs = 5_000;

export function addWatch(program: Command): void {
  program
    .command("watch")
    .summary("follow a session, or the organization's events")
    .description(
      "Shows what a session does as it happens, from its last prompt on, until it has ended. Without a session it shows changes of hosts, sessions and requests. Ctrl-C stops watching; the session continues.",
    )
    .argument("[sessionId]", "the session")
    .option("--from-start", "show the whole log first")
    .option("--json", "print one event per line")
    .option("--data <directory>", "the data directory of hawser up")
    .action(async (sessionId: string | undefined, options: Options) => {
      process.once("SIGINT", () => process.exit(130));
      const login = readLogin(dataDirectory(options.data));
      using connection = connect(login, {
        waitsFor: "the next event",
        deadlineMs: patienceMs,
        unreachableMs: awayMs,
        isQuiet: true,
      });
      try {
        if (sessionId === undefined) await watchOrganization(connection, options);
        else await watchSession(connection, sessionId, options);
      } catch (error) {
        throw explain(error) ?? error;
      }
    });
}

async function watchSession(
  { client, signal }: Connection,
  sessionId: string,
  { json, fromStart }: Options,
): Promise<void> {
  const { isTTY, columns } = process.stdout;
  const screen = openScreen((text) => process.stdout.write(text), isTTY ? columns : undefined);
  const after = fromStart ? 0 : await beforeLastPrompt(client, sessionId, signal);
  let seq = after;
  /** The newest entry that is stored, if the session has ended. */
  let lastSeq = Infinity;
  let saysOver = false;
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const until = AbortSignal.any([signal, late.signal]);
  try {
    for await (const event of client.followSession({ sessionId, after, signal: until })) {
      if (json) printText(safeJson(event));
      else if (event.type === "entry") screen.entry(event);
      else if (event.type === "live") screen.live(event);
      if (event.type === "entry") {
        ({ seq } = event);
        // The demo, which starts this command with a channel, waits until an entry is shown.
        process.send?.(seq);
        saysOver = event.update.sessionUpdate === "session_status" && isOver(event.update);
      }
      if (event.type === "record") {
        lastSeq = isOver(event.record) ? await lastOf(client, sessionId, signal) : Infinity;
      }
      clearTimeout(timer);
      if (seq < lastSeq) continue;
      // The record can say so before the host's last entry is stored.
      if (saysOver) return;
      timer = setTimeout(() => late.abort(), lastEntryMs);
    }
  } catch (error) {
    if (!late.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
}

const isOver = ({ status }: { status: string }) =>
  status === "ended" || status === "cleanup_failed";

async function lastOf(client: Client, sessionId: string, signal: AbortSignal): Promise<number> {
  const body = { sessionId, tail: true, limit: 1 };
  return (await client.list_session_events(body, { signal })).lastSeq;
}

/** The entry before the newest prompt; 0 if there is no prompt. */
async function beforeLastPrompt(
  client: Client,
  sessionId: string,
  signal: AbortSignal,
): Promise<number> {
  const types = ["user_message_chunk" as const];
  const body = { sessionId, types, tail: true, limit: 1 };
  const { events } = await client.list_session_events(body, { signal });
  return (events[0]?.seq ?? 1) - 1;
}

async function watchOrganization({ client, signal }: Connection, options: Options): Promise<void> {
  if (options.json) {
    for await (const event of client.followEvents({ signal })) printText(safeJson(event));
    return;
  }
  const changes = createChanges(client, signal, printText);
  for await (const event of client.followEvents({ signal })) await changes.add(event);
}
