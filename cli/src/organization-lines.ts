// What `hawser watch` shows of the organization's events: each changed record as a line, read again from the
// service.
import type { Client, OrganizationEvent } from "@hawser/client";
import { safeText } from "./terminal.ts";

export interface Changes {
  /** Prints a line for each record that looks different now. */
  add(event: OrganizationEvent): Promise<void>;
}

type RecordName = Extract<OrganizationEvent, { type: "changed" }>["record"];

const newest = 100;
const longestLine = 300;

export function createChanges(
  client: Client,
  signal: AbortSignal,
  print: (line: string) => void,
): Changes {
  /** The last line of each record, by its id. */
  const shown = new Map<string, string>();

  const readers: Record<RecordName, () => Promise<Map<string, string>>> = {
    async instance() {
      const { instances } = await client.list_instances({}, { signal });
      return new Map(
        instances.map(({ instanceId, name, status, statusReason }) => [
          instanceId,
          `host ${instanceId} ${status}${because(statusReason)}: ${name}`,
        ]),
      );
    },
    async session() {
      const { sessions } = await client.list_sessions({ limit: newest }, { signal });
      return new Map(
        sessions.map(({ sessionId, agentKind, status, statusReason, title }) => [
          sessionId,
          `session ${sessionId} ${status}${because(statusReason)}, ${agentKind}: ${title ?? "(no title)"}`,
        ]),
      );
    },
    async request() {
      const body = { scope: "all", limit: newest } as const;
      const { requests } = await client.list_pending_requests(body, { signal });
      return new Map(
        requests.map(({ requestId, sessionId, status, permission, questions }) => [
          requestId,
          `request ${requestId} ${status}, session ${sessionId}: ${permission?.title ?? questions?.[0]?.question ?? ""}`,
        ]),
      );
    },
  };

  function show(id: string, line: string): void {
    if (shown.get(id) === line) return;
    shown.set(id, line);
    print(safeText(line).replaceAll("\n", " ").slice(0, longestLine));
  }

  return {
    async add(event) {
      if (event.type === "resync") {
        // Hosts are few, and show that the stream works.
        for (const [id, line] of await readers.instance()) show(id, line);
        return;
      }
      const lines = await readers[event.record]();
      show(event.id, lines.get(event.id) ?? `${event.record} ${event.id} changed or was removed`);
    },
  };
}

const because = (reason: string | null) => (reason === null ? "" : ` (${reason})`);
