// Changes of a session for tests: files whose lines a test can change, and their patches as git makes them.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FakedService } from "./faked-service.ts";

/** Before and after; undefined if the file is not there. */
export type Versions = [before: string | undefined, after: string | undefined];
export type Files = Record<string, Versions>;

export interface FakedChanges {
  files: Files;
  live: boolean;
}

/** Answers what a session with these files would. The files may be replaced at any time. */
export function fakeChanges({ answers }: FakedService, files: Files): FakedChanges {
  const changes: FakedChanges = { files, live: true };
  answers["get_session_diff"] = () => ({
    files: Object.entries(changes.files)
      .filter(([, [before, after]]) => before !== after)
      .map(([path, versions]) => {
        const lines = patchOf(path, versions).split("\n");
        const head = lines.findIndex((line) => line.startsWith("@@"));
        const body = head === -1 ? [] : lines.slice(head);
        return {
          path,
          added: body.filter((line) => line.startsWith("+")).length,
          removed: body.filter((line) => line.startsWith("-")).length,
        };
      }),
    truncated: false,
    live: changes.live,
    takenAt: "2026-11-15T09:41:00.000Z",
  });
  answers["get_session_file_diff"] = ({ path, cursor }) => {
    const patch = patchOf(String(path), changes.files[String(path)] ?? ["", ""]);
    // In two pages, so that they have to be joined.
    const middle = patch.indexOf("\n", patch.length / 2) + 1;
    return cursor === undefined
      ? { path, patch: patch.slice(0, middle), nextCursor: "second" }
      : { path, patch: patch.slice(middle), nextCursor: null };
  };
  return changes;
}

function patchOf(path: string, [before, after]: Versions): string {
  const directory = mkdtempSync(join(tmpdir(), "hawser-changes-"));
  const write = (content: string | undefined) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    if (content === undefined) rmSync(join(directory, path), { force: true });
    else writeFileSync(join(directory, path), content);
  };
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-C", directory, ...args], {
      encoding: "utf8",
    });
  try {
    git("init", "-q");
    write(before);
    git("add", "-A");
    git("commit", "-q", "--allow-empty", "-m", "before");
    write(after);
    git("add", "-A");
    return git("diff", "--cached", "HEAD");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const handler = (body: string) => `export async function handleTransfer(
  db: Db, delivery: Delivery,
) {
${body}
}
`;

/** As in the target pictures. */
export const payouts: Files = {
  "src/webhooks/handle-transfer.ts": [
    handler(`  const seen = await db.receipts.find(delivery.id)
  if (seen) return
  await payouts.queue(delivery.transfer)
  await db.receipts.add(delivery.id)`),
    handler(`  await db.transaction(async (tx) => {
    // The receipt is the lock: the second
    // delivery of one event inserts nothing.
    const first = await tx.one\`
      insert into webhook_receipts (event_id)
      values (\${delivery.eventId})
      on conflict do nothing
      returning event_id\`
    if (first === null) return
    await payouts.queue(tx, delivery.transfer)
  })`),
  ],
  "migrations/0042_webhook_receipts.sql": [
    undefined,
    `-- One row per event we have acted on.
create table webhook_receipts (
  event_id text primary key,
  at timestamptz not null default now()
);
`,
  ],
  "test/webhooks/replay.test.ts": [
    "import { test } from 'node:test'\n",
    `import { test } from 'node:test'\n\ntest('replays', () => {})\n`,
  ],
};
