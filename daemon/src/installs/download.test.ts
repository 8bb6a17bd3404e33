import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { download } from "./download.ts";

test("of an answer that is no file, only the beginning is read", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "hawser-download-"));
  t.after(() => removeDirectory(place));
  const part = Buffer.alloc(64 * 1024, "a");
  const most = 64 * 1024 * 1024;
  let sent = 0;
  const server = createServer((_request, response) => {
    response.writeHead(404);
    const send = () => {
      while (sent < most && !response.destroyed) {
        sent += part.length;
        if (response.write(part)) continue;
        response.once("drain", send);
        return;
      }
      response.end();
    };
    response.on("error", () => {});
    send();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  const { signal } = new AbortController();
  const file = join(place, "file");
  await assert.rejects(
    download({ url, file, size: 10, sha512: "", onBytes: () => {}, signal }),
    /it answered 404/,
  );
  assert.ok(sent < most / 4, `${sent} bytes were sent`);
});
