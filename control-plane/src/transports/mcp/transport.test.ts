// What the MCP door does with messages before and beside the calls of tools, on the toy product.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { request } from "@hawser/testkit/caller.ts";
import { createTestOrganization, type TestOrganization } from "@hawser/testkit/organization.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createToyTables, startToyProduct, type ToyProduct } from "@hawser/testkit/toy-product.ts";

let service: ServiceDatabase;
let organization: TestOrganization;
let toy: ToyProduct;

before(async () => {
  service = await openServiceDatabase();
  await createToyTables(service.url);
  organization = await createTestOrganization(service.database, "Toys", "toy@toys.example");
  toy = await startToyProduct({ database: service.database });
});

after(async () => {
  await toy[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

interface Reply {
  status: number;
  result?: Record<string, unknown>;
  /** A code of the protocol, or of the service if the service refused the whole message. */
  error?: { code: number | string; message: string; fields?: { field: string }[] };
}

interface Options {
  query?: string;
  key?: string;
  to?: ToyProduct;
}

async function post(body: string, { query = "", key, to = toy }: Options = {}): Promise<Reply> {
  const { status, text } = await request(to.baseUrl, `/api/mcp${query}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key ?? organization.keys.owner}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body,
  });
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return { status, ...(JSON.parse(json) as object) };
}

const send = (method: string, params: object, options?: Options) =>
  post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), options);

const read = { uri: "toy://counts/seen" };
const namesOf = async (method: string, field: string, options: Options) =>
  ((await send(method, {}, options)).result![field] as { name: string }[]).map(({ name }) => name);

test("a resource and a prompt need their tools to be selected", async () => {
  await send("tools/call", { name: "add_one", arguments: { name: "seen" } });
  assert.ok((await send("resources/read", read)).result);
  const other = { query: "?tools=add_one" };
  const refused = await send("resources/read", read, other);
  assert.equal(refused.error?.code, -32602);
  assert.match(refused.error.message, /read_count, which is not among those that this client/);
  const get = { name: "count_up", arguments: { what: "x" } };
  assert.ok((await send("prompts/get", get, other)).result);
  const readOnly = { query: "?readonly=true" };
  assert.equal((await send("prompts/get", get, readOnly)).error?.code, -32602);
  assert.deepEqual(await namesOf("resources/templates/list", "resourceTemplates", other), []);
  assert.deepEqual(await namesOf("prompts/list", "prompts", other), ["count_up"]);
  assert.deepEqual(await namesOf("prompts/list", "prompts", readOnly), []);
});

test("a prompt that needs more than the key may do is not listed", async () => {
  const viewer = { key: organization.keys.viewer };
  assert.deepEqual(await namesOf("prompts/list", "prompts", viewer), []);
  assert.deepEqual(await namesOf("resources/templates/list", "resourceTemplates", viewer), [
    "count",
  ]);
});

test("each message counts as a call of the key", async () => {
  const message = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "prompts/get",
    params: { name: "count_up", arguments: { what: "x" } },
  });
  const batch = (count: number) =>
    JSON.stringify(Array.from({ length: count }, (_, n) => message(n)));
  for (const body of [
    JSON.stringify(message(1)),
    JSON.stringify({ ...message(1), method: "ping", params: {} }),
    JSON.stringify({ ...message(1), method: "tools/call", params: { name: "no_such_tool" } }),
    JSON.stringify({ ...message(1), method: "tools/list", params: {} }),
    JSON.stringify({ ...message(1), method: "prompts/list", params: {} }),
    "5",
    "{",
    batch(2),
  ]) {
    await using small = await startToyProduct({ database: service.database, calls: 4 });
    let passed = 0;
    const isRefused = ({ status, error }: Reply) =>
      status === 429 || /too many calls/.test(error?.message ?? "");
    while (passed < 10 && !isRefused(await post(body, { to: small }))) passed += 1;
    assert.equal(passed, body === batch(2) ? 2 : 4, body.slice(0, 80));
  }
  await using small = await startToyProduct({ database: service.database, calls: 4 });
  assert.equal(
    (await post(batch(20), { to: small })).status,
    200,
    "a full bucket pays for any batch",
  );
  assert.equal((await post(batch(1), { to: small })).status, 429);
  const call = await send(
    "tools/call",
    { name: "add_one", arguments: { name: "x" } },
    { to: small },
  );
  const { error } = call.result!["structuredContent"] as { error: { code: string } };
  assert.equal(error.code, "rate_limited", "a tool's refusal is a result, which a model can read");
});

test("a long argument of a prompt and a long id are refused", async () => {
  const what = "\n".repeat(20_001);
  const long = await send("prompts/get", { name: "count_up", arguments: { what } });
  assert.deepEqual(
    [long.error?.code, long.error?.message],
    [-32602, "An argument has more than 20000 characters."],
  );
  const id = "x".repeat(257);
  const refused = await post(JSON.stringify({ jsonrpc: "2.0", id, method: "ping" }));
  assert.deepEqual([refused.status, refused.error?.fields?.[0]?.field], [400, "id"]);
});

test("the rules for bodies hold for the whole message", async () => {
  const call = (more: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_count",${more}}}`;
  const deep = `${'{"a":'.repeat(4_000)}1${"}".repeat(4_000)}`;
  for (const [body, field] of [
    [call('"arguments":{"__proto__":{"name":"x"},"name":"seen"}'), "params.arguments.__proto__"],
    [call('"__proto__":{"name":"x"},"arguments":{"name":"seen"}'), "params.__proto__"],
    ['{"jsonrpc":"2.0","id":"\\u0000","method":"ping"}', "id"],
    ['{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', "id"],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}', "params.name"],
    [
      '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"count_up","arguments":{"what":"\\u0000"}}}',
      "params.arguments.what",
    ],
    [`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":${deep}}}`, "params._meta"],
  ]) {
    const { status, error } = await post(body!);
    assert.deepEqual([status, error?.code], [400, "invalid_input"], field);
    assert.ok(error?.fields?.[0]?.field.startsWith(field!), error?.fields?.[0]?.field);
  }
  // The tool refuses wrong arguments itself, so that a model can read the reason.
  const { result } = await post(call('"arguments":{"name":"\\ud800"}'));
  assert.equal(result?.["isError"], true);
});

test("two messages of a batch must not have one id", async () => {
  const message = { jsonrpc: "2.0", id: 7, method: "tools/call" };
  const params = { name: "add_one", arguments: { name: "twice" } };
  const { status, error } = await post(
    JSON.stringify([message, message].map((m) => ({ ...m, params }))),
  );
  assert.deepEqual([status, error?.code], [400, "invalid_input"]);
  const count = await send("resources/read", { uri: "toy://counts/twice" });
  assert.match(count.error?.message ?? "", /Nothing has been counted/);
});

test("wrong parameters are errors of the caller", async () => {
  for (const [method, params] of [
    ["prompts/get", { name: "count_up", arguments: { what: 5 } }],
    ["prompts/get", { name: 5 }],
    ["tools/list", { cursor: 5 }],
    ["tools/list", { cursor: "x" }],
    ["prompts/list", { cursor: "x" }],
    ["resources/read", {}],
    ["initialize", { protocolVersion: 5 }],
  ] as const) {
    const { error } = await send(method, params);
    assert.equal(error?.code, -32602, `${method} ${JSON.stringify(params)}: ${error?.message}`);
    assert.doesNotMatch(error.message, /[[{]/, "a sentence, not JSON");
  }
});

test("a refusal in a resource is an error of the caller", async () => {
  const key = organization.keys.owner;
  const { error } = await send("resources/read", { uri: "toy://counts/never" }, { key });
  assert.deepEqual(
    [error?.code, error?.message],
    [-32602, "Nothing has been counted under this name."],
  );
  const long = await send("resources/read", { uri: `toy://counts/${"n".repeat(21)}` });
  assert.equal(long.error?.code, -32602);
});
