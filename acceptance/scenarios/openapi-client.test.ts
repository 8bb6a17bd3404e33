// The OpenAPI document as an integrator uses it: a client is generated from it, compiled and run.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

const root = join(import.meta.dirname, "../..");

const client = `
import type { components, paths } from "./api.ts";

type Actions = {
  [Path in keyof paths as Path extends \`/api/rest/actions/\${infer Name}\` ? Name : never]: paths[Path];
};
type Input<Name extends keyof Actions> = Actions[Name] extends {
  post: { requestBody: { content: { "application/json": infer Body } } };
} ? Body : never;
type Result<Name extends keyof Actions> = Actions[Name] extends {
  post: { responses: { 200: { content: { "application/json": { result: infer Value } } } } };
} ? Value : never;

async function call<Name extends keyof Actions & string>(name: Name, input: Input<Name>): Promise<Result<Name>> {
  const response = await fetch(\`\${process.env["HAWSER_URL"]}/api/rest/actions/\${name}\`, {
    method: "POST",
    headers: { authorization: \`Bearer \${process.env["HAWSER_KEY"]}\`, "content-type": "application/json" },
    body: JSON.stringify(input),
  });
  const answer = (await response.json()) as { result: Result<Name> } | components["schemas"]["Error"];
  if ("error" in answer) throw new Error(answer.error.code);
  return answer.result;
}

const { instance } = await call("create_instance", { name: "of a generated client" });
const { instances } = await call("search_instances", { query: "of a gen", limit: 5 });
const status: "pairing" | "online" | "offline" = instances[0]!.status;
const update: components["schemas"]["SessionUpdate"] = {
  sessionUpdate: "turn_finished",
  outcome: "completed",
  reason: null,
};
const problem = await call("get_instance", { instanceId: "no such id" }).catch((error: Error) => error.message);
console.log(JSON.stringify([instance.instanceId === instances[0]!.instanceId, status, update.sessionUpdate, problem]));
`;

scenario(
  "A client that is generated from the OpenAPI document compiles and works",
  [],
  async ({ world, caller }) => {
    const { body } = await caller.request("/api/openapi.json");
    const types = astToString(await openapiTS(JSON.stringify(body)));
    // Inside the repository, so that the compiler finds the types of Node.
    const folder = mkdtempSync(join(root, "acceptance/.generated-client-"));
    try {
      writeFileSync(join(folder, "api.ts"), types);
      const compile = (text: string) => {
        writeFileSync(join(folder, "client.ts"), text);
        const settings = {
          compilerOptions: {
            strict: true,
            noEmit: true,
            skipLibCheck: true,
            target: "es2024",
            module: "nodenext",
            moduleDetection: "force",
            allowImportingTsExtensions: true,
            types: ["node"],
          },
          files: ["client.ts"],
        };
        writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
        return spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
      };
      const wrong = compile(client.replace("{ query: ", "{ qurey: "));
      assert.match(wrong.stdout, /qurey/, "the compiler finds a wrong field");
      const compiled = compile(client);
      assert.equal(compiled.status, 0, compiled.stdout);
      const ran = spawnSync(process.execPath, [join(folder, "client.ts")], {
        encoding: "utf8",
        env: { ...process.env, HAWSER_URL: world.baseUrl, HAWSER_KEY: caller.key },
      });
      assert.equal(ran.status, 0, ran.stderr);
      assert.deepEqual(JSON.parse(ran.stdout), [true, "pairing", "turn_finished", "not_found"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
