// A second, tiny product on the same dispatcher and routes, which know nothing of coding.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { request } from "@hawser/testkit/caller.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createTestOrganization, type TestOrganization } from "@hawser/testkit/organization.ts";
import { createToyTables, startToyProduct, type ToyProduct } from "@hawser/testkit/toy-product.ts";
import type { Database } from "../postgres/database.ts";

let service: ServiceDatabase;
let database: Database;
let organization: TestOrganization;
let toy: ToyProduct;

before(async () => {
  service = await openServiceDatabase();
  ({ database } = service);
  await createToyTables(service.url);
  organization = await createTestOrganization(database, "Toys", "toy@toys.example");
  toy = await startToyProduct({ database });
});

after(async () => {
  await toy[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

function call(path: string, body?: unknown, key = organization.keys.owner) {
  return request(toy.baseUrl, path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

function mcp(method: string, params: object, key?: string) {
  return call("/api/mcp", { jsonrpc: "2.0", id: 1, method, params }, key);
}

/** The single message of an MCP answer, however it was framed. */
function message(text: string): { result?: Record<string, unknown>; error?: { message: string } } {
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return JSON.parse(data) as ReturnType<typeof message>;
}

test("its actions answer at the REST door", async () => {
  assert.equal(
    (await call("/api/rest/actions/add_one", { name: "x" })).text,
    '{"result":{"name":"x","count":1}}',
  );
  assert.equal(
    (await call("/api/rest/actions/list_instances", {})).body.error.code,
    "unknown_action",
  );
  assert.equal(
    (await call("/api/rest/actions/add_one", { name: "x" }, organization.keys.viewer)).status,
    403,
  );
});

test("its listing shows what a key may call", async () => {
  const names = async (key: string) =>
    (await call("/api/rest/actions", undefined, key)).body.actions.map(
      ({ name }: { name: string }) => name,
    );
  assert.deepEqual(await names(organization.keys.owner), [
    "read_count",
    "add_one",
    "add_one_remotely",
  ]);
  assert.deepEqual(await names(organization.keys.viewer), ["read_count"]);
});

test("its tools answer at the MCP door with what REST gives", async () => {
  const listed = message((await mcp("tools/list", {}, organization.keys.viewer)).text);
  assert.deepEqual(
    (listed.result!["tools"] as { name: string }[]).map(({ name }) => name),
    ["read_count"],
  );
  await mcp("tools/call", { name: "add_one", arguments: { name: "y" } });
  const read = message(
    (await mcp("tools/call", { name: "read_count", arguments: { name: "y" } })).text,
  );
  assert.deepEqual(read.result!["structuredContent"], { name: "y", count: 1 });
});

test("its description bears its own title and version", async () => {
  const { body } = await call("/api/openapi.json");
  assert.equal(body.info.title, "Toy API");
  assert.equal(body.info.version, "3.2.1");
  assert.deepEqual(Object.keys(body.paths as object), [
    "/api/rest/actions",
    "/api/rest/actions/read_count",
    "/api/rest/actions/add_one",
    "/api/rest/actions/add_one_remotely",
  ]);
});

test("a refusal that its action does not list is a fault of ours, and answered as one", async () => {
  const listed = await call("/api/rest/actions/add_one", { name: "z", refuse: "queue_full" });
  assert.equal(listed.body.error.code, "queue_full");
  const unlisted = await call("/api/rest/actions/add_one", { name: "z", refuse: "turn_running" });
  assert.equal(unlisted.body.error.code, "internal");
});
