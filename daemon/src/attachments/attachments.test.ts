// Files of prompts on a host's disk: brought, limited, and gone when no prompt needs them.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { BlobRefused } from "../blobs/lane.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { createAttachments } from "./attachments.ts";
import { UrlRefused } from "./fetch-url.ts";

const MiB = 1024 * 1024;
const never = new AbortController().signal;

function open(now = Date.now) {
  const folder = mkdtempSync(join(tmpdir(), "hawser-attachments-"));
  const attachments = createAttachments({
    directory: join(folder, "attachments"),
    now,
    lane: {
      async get(sha256, path) {
        if (sha256 === "gone") throw new BlobRefused("not_found", "There is none.");
        writeFileSync(path, sha256);
        return { size: sha256.length };
      },
    },
    async fetch({ url, path }) {
      if (url.includes("inside")) throw new UrlRefused("The address does not lead there.");
      writeFileSync(path, "fetched");
      return url.includes("large") ? 15 * MiB : 7;
    },
  });
  return { attachments, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

const blob = (sha256: string, size = 1) => ({
  mime: "text/plain",
  filename: "../a.txt",
  from: { sha256, size },
});
const at = (url: string) => ({ mime: "text/plain", filename: null, from: { url } });

test("files are brought under names of ours, and go when no prompt needs them", async () => {
  let now = Date.now();
  using opened = open(() => now);
  const { attachments } = opened;
  const uploaded = { ...blob("content"), fileId: "fil_1" };
  const [one, two] = await attachments.bring([uploaded, at("https://a.example")], never);
  assert.deepEqual([one!.fileId, one!.size], ["fil_1", 7]);
  assert.deepEqual([two!.fileId, two!.size], [undefined, 7]);
  assert.equal(readFileSync(one!.path, "utf8"), "content");
  assert.equal(readFileSync(two!.path, "utf8"), "fetched");
  assert.doesNotMatch(one!.path, /a\.txt/);
  const [other] = await attachments.bring([blob("other")], never);
  attachments.tidy([]);
  assert.ok(existsSync(one!.path), "one that was just brought may become a prompt's");
  now += 3_600_000;
  attachments.tidy([other!]);
  assert.equal(existsSync(dirname(one!.path)), false);
  assert.ok(existsSync(other!.path));
});

test("what cannot be brought is named, and leaves nothing", async () => {
  using opened = open();
  const { attachments } = opened;
  const cases = [
    [[blob("x"), at("https://inside.example")], "attachments.1.url"],
    [[blob("gone")], "attachments.0.fileId"],
    [[blob("a", 20 * MiB), blob("b", 20 * MiB)], "attachments"],
    [["1", "2", "3"].map((n) => at(`https://large.example/${n}`)), "attachments"],
  ] as const;
  for (const [sent, field] of cases) {
    await assert.rejects(attachments.bring(sent, never), (error) => {
      assert.ok(error instanceof CommandRefusal);
      assert.deepEqual([error.code, error.field], ["invalid_input", field]);
      return true;
    });
  }
});
