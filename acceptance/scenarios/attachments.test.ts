// Files that go with prompts: uploaded, or given as addresses, to the real opencode.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { Caller, Reply } from "@hawser/testkit/caller.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { outcomeOf, runTurn, scripted, startSession, updatesOf } from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

const MiB = 1024 * 1024;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

function upload(
  caller: Caller,
  body: Uint8Array,
  { mime = "application/octet-stream", query = "" } = {},
): Promise<Reply> {
  return caller.request(`/api/files${query}`, {
    method: "POST",
    headers: { "content-type": mime },
    body: new Uint8Array(body),
  });
}

scenario(
  "An uploaded image and a data: address reach the model with their media types",
  ["send_prompt.attachments.delivered"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const made = await upload(caller, png, { mime: "image/png", query: "?filename=dot.png" });
    assert.equal(made.status, 201);
    const { fileId, size, mime } = made.body as { fileId: string; size: number; mime: string };
    assert.deepEqual([size, mime], [png.length, "image/png"]);
    const text = Buffer.from("remember the milk").toString("base64");
    const events = await runTurn(caller, sessionId, scripted("look", { text: "Seen." }), {
      attachments: [
        { mime: "image/png", fileId, filename: "dot.png" },
        { mime: "text/plain", url: `data:text/plain;base64,${text}`, filename: "notes.txt" },
      ],
    });
    assert.equal(outcomeOf(events), "completed");
    const [prompt] = updatesOf(events, "user_message_chunk");
    assert.equal(prompt!.by, (await caller.whoami({})).user?.userId ?? null);
    const shown = prompt!.attachments!.map(({ fileId: id, ...file }) => ({
      ...file,
      isKept: id !== null,
    }));
    assert.deepEqual(shown, [
      { filename: "dot.png", mime: "image/png", size: png.length, isKept: true },
      { filename: "notes.txt", mime: "text/plain", size: 17, isKept: true },
    ]);
    assert.equal(prompt!.attachments![0]!.fileId, fileId);
    const asked = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.ok(asked.includes(`data:image/png;base64,${png.toString("base64")}`));
    assert.match(asked, /remember the milk/);
  },
);

scenario(
  "A file is visible to its own organization only, and no address leads into the host's own network",
  ["send_prompt.attachments.fileId", "send_prompt.attachments.url"],
  async ({ world, caller, stranger }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const theirs = (await upload(stranger, png)).body.fileId as string;
    const send = (...attachments: object[]) =>
      caller.try("send_prompt", { sessionId, text: "look", attachments });
    const mime = "image/png";
    assertRefused(await send({ mime, fileId: theirs }), 404, "not_found");
    assertRefused(await send({ mime, fileId: "fil_unknown" }), 404, "not_found");
    assertRefused(await caller.request(`/api/files/${theirs}`), 404, "not_found");
    for (const address of ["127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "localhost"]) {
      const reply = await send({ mime, url: `https://${address}/latest/meta-data` });
      assertInvalid(reply, "attachments.0.url", address);
    }
    assertInvalid(await send({ mime, url: "https://example.com:8080/a" }), "attachments.0.url");
    assertInvalid(await send({ mime, url: "data:image/png;base64,%%" }), "attachments.0.url");
    assertInvalid(await send({ mime: "a b", url: "data:,x" }), "attachments.0.mime");
    const many = Array.from({ length: 21 }, () => ({ mime, url: "data:,x" }));
    assertInvalid(await send(...many), "attachments");
  },
);

scenario(
  "A file keeps its bytes whatever its declared type, and is served as a download",
  [],
  async ({ world, caller }) => {
    const bomb = gzipSync(Buffer.alloc(40 * MiB), { level: 9 });
    assert.ok(bomb.length < 64 * 1024);
    const script = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`);
    const query = `?filename=${encodeURIComponent("../../etc/pass\r\nX: y'\"wd")}`;
    for (const [body, mime] of [
      [bomb, "application/gzip"],
      [script, "image/svg+xml"],
      [script, "text/html"],
    ] as const) {
      const { fileId } = (await upload(caller, body, { mime, query })).body as { fileId: string };
      const got = await caller.request(`/api/files/${fileId}`);
      assert.equal(got.headers.get("content-type"), "application/octet-stream");
      assert.equal(got.headers.get("x-content-type-options"), "nosniff");
      const disposition = got.headers.get("content-disposition") ?? "";
      assert.match(disposition, /^attachment; filename\*=UTF-8''[\w.%-]+$/);
      assert.ok(!disposition.includes("/") && !/%2f|%0d/i.test(disposition));
      assert.equal(got.headers.get("content-length"), String(body.length));
    }
    assertRefused(await upload(caller, Buffer.alloc(16 * MiB + 1)), 413, "payload_too_large");
    const weak = world.callerFor(await world.makeKey(world.organizations[0], ["sessions:view"]));
    assertRefused(await upload(weak, png), 403, "forbidden");
    const blind = world.callerFor(await world.makeKey(world.organizations[0], ["sessions:edit"]));
    const { fileId } = (await upload(blind, png)).body as { fileId: string };
    assertRefused(await blind.request(`/api/files/${fileId}`), 403, "forbidden");
    assertRefused(await caller.request("/api/files"), 405, "method_not_allowed");
  },
);

scenario(
  "An unused file is removed after seven days, with its bytes",
  [],
  async ({ world, caller }) => {
    const bytes = Buffer.from(`leaving ${crypto.randomUUID()}`);
    const { fileId } = (await upload(caller, bytes)).body as { fileId: string };
    const hex = bytes.toString("hex");
    assert.ok((await dumpDatabase(world.database.url)).includes(hex));
    const earlier = "SET kept_until = kept_until - interval '8 days' WHERE kept_until IS NOT NULL";
    await ownerSql(world.database.url, `UPDATE files ${earlier}`);
    assertRefused(await caller.request(`/api/files/${fileId}`), 404, "not_found");
    await ownerSql(world.database.url, `UPDATE blobs ${earlier}`);
    // The purge runs every five minutes. A node looks for jobs that are due at least once a minute.
    await ownerSql(world.database.url, `UPDATE jobs SET due_at = 'epoch' WHERE name = 'purge'`);
    await until(
      "its bytes gone",
      75_000,
      () => dumpDatabase(world.database.url),
      (dump) => !dump.includes(hex),
    );
  },
);
