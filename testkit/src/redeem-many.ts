// A process that tries to redeem one pairing token many times at once, on its own connections; the
// race of T16 is run by several of these. Started with the database's address; told the token.
import { redeemPairingToken } from "@hawser/control-plane/instances/pairing.ts";
import { openDatabase } from "@hawser/control-plane/postgres/database.ts";

const database = openDatabase({
  url: process.argv[2]!,
  connections: 20,
  patienceMs: 20_000,
  onIdleError: () => {},
});

process.on("message", ({ token, count }: { token: string; count: number }) => {
  const tries = Array.from({ length: count }, () => redeemPairingToken(database, token, "race"));
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
