// The schemas that callers read, held against the pin and against what the service accepts and refuses.
import assert from "node:assert/strict";
import type { ActionName, ErrorBody } from "@hawser/contract";
import { request } from "@hawser/testkit/caller.ts";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { concurrently } from "../concurrently.ts";
import { probesOf } from "../field-probes.ts";
import { connectMcp } from "../mcp-client.ts";
import { pin, type PinnedAction } from "../pin.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";
import { validBody, withField, type Body } from "../valid-body.ts";

useWorld({ environment: { HAWSER_RATE_PER_SECOND: "5000", HAWSER_RATE_BURST: "5000" } });

type Schema = Record<string, unknown>;

interface Published {
  name: ActionName;
  permission: string;
  input: Schema;
}

async function listing({ caller }: Context): Promise<Map<string, Published>> {
  const { body } = await caller.request("/api/rest/actions");
  const { actions } = body as { actions: Published[] };
  return new Map(actions.map((action) => [action.name, action]));
}

/** Each value that a field's row tells to send, and whether the pin accepts it. */
function bodiesOf(action: PinnedAction): { body: Body; isValid: boolean }[] {
  const fields = action.fields.flatMap((field) => [
    { path: [field.name], field },
    ...(field.fields ?? field.items?.fields ?? []).map((inner) => ({
      path: [field.name, inner.name],
      field: inner,
    })),
  ]);
  const probes = fields.flatMap(({ path, field }) =>
    probesOf(field.name, field.required, field).flatMap(({ accept = [], refuse = [] }) => [
      ...accept.map((value) => ({ body: withField(action, path, value), isValid: true })),
      ...refuse.map((value) => ({ body: withField(action, path, value), isValid: false })),
    ]),
  );
  const valid = validBody(action);
  return [{ body: valid, isValid: true }, { body: { ...valid, zz: 1 }, isValid: false }, ...probes];
}

const asJson = (body: Body) => JSON.parse(JSON.stringify(body)) as Body;

scenario(
  "Names, permissions and bodies of the interface's actions are published as pinned",
  ["general.version.additive"],
  async (context) => {
    const listed = await listing(context);
    const { body } = await request(context.world.baseUrl, "/api/openapi.json");
    const { paths } = body as { paths: Record<string, { post: Schema }> };
    for (const action of pin.actions) {
      const published = listed.get(action.name);
      assert.ok(published, action.name);
      assert.equal(published.permission, action.permission, action.name);
      const { properties = {}, required = [] } = published.input as {
        properties?: Record<string, Schema>;
        required?: string[];
      };
      const names = action.fields.map(({ name }) => name);
      assert.deepEqual(Object.keys(properties).sort(), names.sort(), action.name);
      const needed = action.fields.filter((field) => field.required).map(({ name }) => name);
      assert.deepEqual([...required].sort(), needed.sort(), action.name);
      assert.equal(published.input["additionalProperties"], false, action.name);
      const { requestBody } = paths[`/api/rest/actions/${action.name}`]!.post as {
        requestBody: { content: Record<string, { schema: Schema }> };
      };
      const described = requestBody.content["application/json"]!.schema;
      assert.deepEqual(Object.keys((described["properties"] as Schema) ?? {}).sort(), names.sort());
    }
  },
);

scenario(
  "A tool's schema accepts what the action accepts, and refuses what it refuses",
  ["mcp.tools.schema", "general.version.additive"],
  async (context) => {
    const { world, caller } = context;
    const listed = await listing(context);
    await using client = await connectMcp(world.baseUrl, caller.key);
    const { tools } = await client.listTools();
    const validator = new AjvJsonSchemaValidator();
    let refused = 0;
    for (const action of pin.actions) {
      const tool = tools.find(({ name }) => name === action.name);
      assert.deepEqual(tool?.inputSchema, listed.get(action.name)?.input, action.name);
      assert.equal(tool?.inputSchema["additionalProperties"], false, action.name);
      const check = validator.getValidator(tool.inputSchema as never);
      await concurrently(bodiesOf(action), async ({ body, isValid }) => {
        const about = `${action.name} ${JSON.stringify(body).slice(0, 200)}`;
        const rest = await caller.try(action.name, body);
        assert.equal(rest.status === 400, !isValid, `${about}: ${rest.text}`);
        assert.equal(check(asJson(body)).valid, isValid, `the schema of ${about}`);
        const answer = await client.callTool({ name: action.name, arguments: asJson(body) });
        const error = (answer.structuredContent as Partial<ErrorBody> | undefined)?.error;
        assert.equal(error?.code === "invalid_input", !isValid, `the tool ${about}`);
        if (!isValid) refused += 1;
      });
    }
    assert.ok(refused > 300, `${refused} bodies were refused`);
  },
);
