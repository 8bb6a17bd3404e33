import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hangUp,
  refusal,
  startScriptedService,
  type ScriptedService,
} from "@hawser/testkit/scripted-service.ts";
import { createClient, Refused } from "./index.ts";

const connect = ({ url }: ScriptedService) => createClient({ url, key: "hwk_test" });
const stored = { fileId: "fil_1", size: 5, mime: "text/plain" };
const storing: Parameters<typeof startScriptedService>[0] = (response) =>
  response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(stored));

test("an upload sends the bytes with their media type and name, and is repeated if it breaks off", async () => {
  await using service = await startScriptedService(hangUp, storing);
  const options = { mime: "text/plain", filename: "two words & more.txt" };
  assert.deepEqual(await connect(service).uploadFile("hello", options), stored);
  assert.equal(service.received.length, 2);
  for (const { method, path, headers, body } of service.received) {
    assert.deepEqual(
      [method, path, headers["content-type"], headers.authorization, body],
      [
        "POST",
        "/api/files?filename=two%20words%20%26%20more.txt",
        "text/plain",
        "Bearer hwk_test",
        "hello",
      ],
    );
  }
});

test("a refused upload is thrown at once", async () => {
  const large = refusal(413, { code: "payload_too_large", retry: "changed" });
  await using service = await startScriptedService(large, storing);
  await assert.rejects(connect(service).uploadFile("hello"), Refused);
  assert.equal(service.received.length, 1);
});

test("a download that breaks off is repeated, and returns all bytes", async () => {
  const half: Parameters<typeof startScriptedService>[0] = (response) => {
    response.writeHead(200, { "content-length": "4" });
    response.write(Buffer.from([0, 255]), () => response.destroy());
  };
  const whole: typeof half = (response) => response.end(Buffer.from([0, 255, 10, 200]));
  await using service = await startScriptedService(half, whole);
  assert.deepEqual([...(await connect(service).downloadFile("fil_1"))], [0, 255, 10, 200]);
  assert.equal(service.received[1]!.path, "/api/files/fil_1");
});
