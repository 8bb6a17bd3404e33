import assert from "node:assert/strict";
import { test } from "node:test";
import { identityActions } from "./actions/identities.ts";
import { objectToGateway } from "./link-way.ts";

const { input } = identityActions.link_agent_identity;
const rest = { instanceId: "ins_x", kind: "claude_code", sealedSecret: "a.b.c.d.e" };

/** The fields that are refused. */
function wrongFields(fields: object): string[] {
  const { error } = input.safeParse({ ...rest, ...fields });
  return [...new Set(error?.issues.map(({ path }) => path.join(".")))];
}

const region = "eu-west-1";
const baseUrl = "https://gateway.example/anthropic";
const projectId = "acme-models";

test("each way needs its own fields, and accepts no others", () => {
  const cases: [fields: object, wrong: string[]][] = [
    [{ way: "api_key" }, []],
    [{ way: "api_key", baseUrl }, ["baseUrl"]],
    [{ way: "api_key", region, projectId }, ["region", "projectId"]],
    [{ way: "gateway", baseUrl }, []],
    [{ way: "gateway" }, ["baseUrl"]],
    [{ way: "gateway", baseUrl, region }, ["region"]],
    [{ way: "bedrock", region }, []],
    [{ way: "bedrock" }, ["region"]],
    [{ way: "bedrock", region: "EU West" }, ["region"]],
    [{ way: "vertex", region, projectId }, []],
    [{ way: "vertex", region: "global", projectId: "example.com:acme" }, []],
    [{ way: "vertex" }, ["region", "projectId"]],
    [{ way: "vertex", region, projectId: "a/b" }, ["projectId"]],
    [{ way: "subscription" }, ["way"]],
    [{ way: "vertex", kind: "codex", region, projectId }, ["way"]],
    [{ way: "bedrock", kind: "codex", region }, []],
    [{ way: "api_key", kind: "opencode" }, ["kind"]],
    [{ way: "api_key", sealedSecret: "" }, ["sealedSecret"]],
    [{ way: "api_key", sealedSecret: `a.b.c.d.${"x".repeat(32_761)}` }, ["sealedSecret"]],
  ];
  for (const [fields, wrong] of cases) {
    assert.deepEqual(wrongFields(fields), wrong, JSON.stringify(fields).slice(0, 200));
  }
});

test("a secret that is not sealed is refused, and the refusal does not repeat it", () => {
  for (const sealedSecret of [
    "sk-ant-api03-abc_DEF",
    "ABSKQmVkcm9ja0FQSUtleQ==",
    '{"type":"service_account"}',
    "a.b.c",
    "a.b.c.d",
    "a..c.d.e",
    "a.b.c.d.e.f",
    "a.b.c.d.e\n",
    "a.b.c.d.=",
  ]) {
    const { error } = input.safeParse({ ...rest, way: "api_key", sealedSecret });
    const [issue, ...more] = error!.issues;
    assert.deepEqual([issue!.path, more], [["sealedSecret"], []], sealedSecret);
    assert.match(issue!.message, /five base64url parts.*seal it with sealingKey/);
    assert.equal(JSON.stringify(error!.issues).includes(sealedSecret), false, sealedSecret);
  }
});

test("a gateway's address is a plain http or https address without credentials", () => {
  for (const address of [
    "http://127.0.0.1:8080",
    "https://gateway.example/v1",
    "https://[::1]:8443/v1/",
  ]) {
    assert.equal(objectToGateway(address), null, address);
  }
  for (const address of [
    "",
    "gateway.example",
    "ftp://gateway.example",
    "file:///etc/passwd",
    "https://ada@gateway.example",
    "https://ada:secret@gateway.example",
    "https://gateway.example/?key=secret",
    "https://gateway.example/#x",
    "https://gateway.example/\u0000",
    "https://gateway.example/ x",
    "https:\\\\gateway.example",
    'https://gateway.example/"x',
    "https:///",
    "https:///evil.example",
    "https:////evil.example",
    "https://@evil.example",
    "https://:@evil.example",
    "https://:443",
    "https://%65vil.example",
  ]) {
    assert.notEqual(objectToGateway(address), null, address);
  }
});
