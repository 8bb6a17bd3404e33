// The published description is clean under the linter its readers use.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { codeApi } from "../product.ts";
import { openApiDocument } from "./openapi.ts";

const linter = fileURLToPath(import.meta.resolve("@redocly/cli/bin/cli.js"));
const about = {
  title: "Code API",
  version: "1.0.0",
  summary: "x",
  baseUrl: "https://hawser.example",
  ...codeApi.described,
};

function lint(document: object): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), "hawser-openapi-"));
  try {
    writeFileSync(join(folder, "openapi.json"), JSON.stringify(document));
    const rules = {
      extends: ["recommended"],
      telemetry: "off",
      rules: { "info-license-strict": "error" },
    };
    writeFileSync(join(folder, "redocly.yaml"), JSON.stringify(rules));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [linter, "lint", "openapi.json", "--max-problems=20"],
      {
        cwd: folder,
        encoding: "utf8",
        env: { PATH: process.env["PATH"], REDOCLY_TELEMETRY: "off", CI: "true", NO_COLOR: "1" },
        timeout: 60_000,
      },
    );
    return { status, output: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("the description of the whole registry has no error and no warning", () => {
  const everything = openApiDocument(codeApi.actions, about);
  const { status, output } = lint(everything);
  assert.equal(status, 0, output);
  assert.match(output, /Your API description is valid/);
  assert.doesNotMatch(output, /warning/i);
});

test("the linter does complain when there is reason to", () => {
  const broken = structuredClone(openApiDocument(codeApi.actions, about)) as {
    components: { schemas: object };
  };
  broken.components.schemas = {};
  assert.notEqual(lint(broken).status, 0);
});

interface Operation {
  tags: string[];
  requestBody: { content: Record<string, { example?: object }> };
  responses: Record<string, { headers: object; content: Record<string, { example?: object }> }>;
}
interface Document {
  tags: { name: string; description: string }[];
  paths: Record<string, { post?: Operation }>;
  components: { schemas: Record<string, { oneOf?: object[] }> };
}

test("every action has a known tag, headers, and an example that fits its schemas", () => {
  const document = openApiDocument(codeApi.actions, about) as Document;
  const tags = document.tags.map(({ name }) => name);
  const without: string[] = [];
  for (const [name, action] of Object.entries(codeApi.actions)) {
    const {
      tags: tagged,
      requestBody,
      responses,
    } = document.paths[`/api/rest/actions/${name}`]!.post!;
    assert.ok(tagged.length === 1 && tags.includes(tagged[0]!), name);
    assert.ok("X-Request-Id" in responses["200"]!.headers, name);
    assert.ok("Retry-After" in responses["429"]!.headers, name);
    const request = requestBody.content["application/json"]!.example;
    const answer = responses["200"]!.content["application/json"]!.example as { result: object };
    if (!request) {
      without.push(name);
      continue;
    }
    assert.ok(action.input.safeParse(request).success, `${name}: ${JSON.stringify(request)}`);
    const { error } = action.result.safeParse(answer.result);
    assert.equal(error, undefined, `${name}: ${error?.message}`);
  }
  assert.deepEqual(without, [], "run `npm run examples`");
});

test("the doors that are no actions are described, with the types of log entries", () => {
  const { paths, components } = openApiDocument(codeApi.actions, about) as Document;
  for (const path of [
    "/api/rest/actions",
    "/api/events",
    "/api/sessions/{sessionId}/events",
    "/api/files",
    "/api/files/{fileId}",
  ])
    assert.ok(paths[path], path);
  assert.ok(components.schemas["SessionUpdate"]!.oneOf!.length > 20);
  assert.ok(components.schemas["SessionUpdate_tool_call"]);
});
