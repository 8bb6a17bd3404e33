// A process that redeems one pairing token many times at once, on its own connections, in a race with other
// such processes. It is started with the database's address, and receives the token over IPC.
import { openDatabase } from "@hawser/control-plane/postgres/database.ts";
import { pairAny } from "./pair-any.ts";

const database = openDatabase({
  url: process.argv[2]!,
  connections: 20,
  patienceMs: 20_000,
  onIdleError: () => {},
});

process.on("message", ({ token, count }: { token: string; count: number }) => {
  const tries = Array.from({ length: count }, () => pairAny(database, token));
  void report(Promise.allSettled(tries), count);
});

async function report(
  tries: Promise<PromiseSettledResult<unknown>[]>,
  count: number,
): Promise<void> {
  const won = (await tries).filter(({ status }) => status === "fulfilled").length;
  process.send!({ won, refused: count - won });
}

process.on("disconnect", () => void database[Symbol.asyncDispose]());
process.send!("ready");
