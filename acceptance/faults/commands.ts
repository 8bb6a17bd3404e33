// The clients of a run: each sends one command with an idempotency key, and repeats it on another node until
// it has a final answer. It records every answer.
import { setTimeout as sleep } from "node:timers/promises";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { Random } from "../fuzz/random.ts";
import { ask } from "./ask.ts";
import type { Bed } from "./bed.ts";
import type { Answer, SentCommand } from "./command-records.ts";

const pauseMs = 150;

export interface Client {
  sent: SentCommand;
  /** The client's own API key, with which its command is found in the database afterwards. */
  key: string;
  idempotencyKey: string;
}

export async function makeClients(bed: Bed, random: Random, count: number): Promise<Client[]> {
  const { world } = bed;
  const clients: Client[] = [];
  for (let i = 1; i <= count; i++) {
    const name = `command ${i}`;
    const { instanceId } = random.pick(bed.hosts).host;
    const key = await world.makeKey(world.organizations[0], ["instances:edit"], { name });
    const sent = { name, instanceId, commandId: undefined, answers: [] };
    clients.push({ sent, key, idempotencyKey: `key-of-command-${i}` });
  }
  return clients;
}

/** Calls until there is a final answer or the time is over. `echo` repeats the call once more. */
export async function insist(
  bed: Bed,
  client: Client,
  deadline: { at: number },
  first: number,
  echo: boolean,
): Promise<void> {
  const { answers } = client.sent;
  for (let turn = first; Date.now() < deadline.at; turn++) {
    const answer = await askOnce(bed, client, turn);
    answers.push(answer);
    if (answer.final) {
      if (echo) answers.push(await askOnce(bed, client, turn + 1));
      return;
    }
    await sleep(pauseMs);
  }
}

async function askOnce(
  bed: Bed,
  { sent, key, idempotencyKey }: Client,
  turn: number,
): Promise<Answer> {
  const nodes = bed.nodes();
  const baseUrl = nodes[turn % nodes.length]?.baseUrl ?? "";
  const input = { instanceId: sent.instanceId };
  return ask(baseUrl, { action: "refresh_instance", input, key, idempotencyKey });
}

/** The service's ids of the commands, found by their API keys. */
export async function readCommandIds(databaseUrl: string, clients: Client[]): Promise<void> {
  const rows = await ownerSql<{ name: string; command_id: string }>(
    databaseUrl,
    `SELECT k.name, i.command_id FROM idempotency i JOIN api_keys k USING (organization_id, api_key_id)`,
  );
  const ids = new Map(rows.map((row) => [row.name, row.command_id]));
  for (const { sent } of clients) sent.commandId = ids.get(sent.name);
}
