// Makes a plausible body for an action from its schema, for the example on its reference page. The
// action's own schema must accept the body, so a page never shows a call that would be refused.
import { formatId, idPrefixes, type Action, type IdKind } from "@hawser/contract";
import { z } from "zod";
import { unwrap, type Schema } from "./schema-table.ts";

/** The smallest body that the action accepts: required fields, and one optional field if a rule needs it. */
export function exampleBody(name: string, input: Action["input"]): Record<string, unknown> {
  const schema: Schema = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
  const fields = Object.entries(schema.properties ?? {}) as [string, Schema][];
  const bodyWith = (optional?: string): Record<string, unknown> =>
    Object.fromEntries<unknown>([
      ...fields
        .filter(([field]) => schema.required?.includes(field) || field === optional)
        .map(([field, value]) => [field, exampleValue(field, value, schema)] as const),
      ...Object.entries(byAction[name] ?? {}),
    ]);
  const candidates = [undefined, ...fields.map(([field]) => field)].map(bodyWith);
  const body = candidates.find((candidate) => input.safeParse(candidate).success);
  if (!body) {
    const reason = input.safeParse(candidates[0]).error?.message;
    throw new Error(`No example body for ${name}: teach scripts/example-body.ts. ${reason}`);
  }
  return body;
}

/** Optional fields that make an action's example more useful. */
const byAction: Record<string, Record<string, unknown>> = {
  add_member: { role: "member" },
  create_api_key: { name: "ci", scope: "organization" },
  create_scheduled_prompt: { frequency: "daily" },
  create_trigger: { events: ["comment"] },
  install_agent_kind: { kind: "codex" },
  run_command: { command: "review" },
  update_agent_kind: { kind: "codex" },
  update_member: { role: "viewer" },
  update_scheduled_prompt: { frequency: "weekly" },
  create_webhook: { url: "https://hooks.example.com/hawser" },
  update_settings: { timeZone: "Europe/Berlin" },
  update_trigger: { enabled: true },
};

/** Typical values of fields by name, where the type alone would give a poor example. */
const byName: Record<string, string> = {
  answers: "Yes",
  code: "4f1c-88d2",
  command: "npm test",
  digits: "4711",
  email: "kim@example.com",
  messageId: "msg_7",
  mime: "image/png",
  modelId: "gpt-5.2",
  modelID: "gpt-5.2",
  name: "build-box",
  prompt: "Update the dependencies and run the tests.",
  providerId: "openai",
  providerID: "openai",
  repo: "acme/shop",
  sealedSecret: "eyJhbGciOiJSU0EtT0FFUC0yNTYifQ.d3JhcHBlZA.aXY.dGV4dA.dGFn",
  text: "Fix the failing login test.",
  timeZone: "Europe/Berlin",
  title: "Fix the login test",
  url: "https://git.example.com/acme/shop.git",
};

function exampleValue(field: string, schema: Schema, root: Schema): unknown {
  const { main } = unwrap(schema, root);
  if (main.const !== undefined) return main.const;
  if (main.enum) return main.enum[0];
  if (main.anyOf) return exampleValue(field, main.anyOf[0] as Schema, root);
  switch (main.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(main.properties ?? {})
          .filter(([name]) => main.required?.includes(name))
          .map(([name, value]) => [name, exampleValue(name, value as Schema, root)]),
      );
    case "array":
      return [exampleValue(field, main.items as Schema, root)];
    case "boolean":
      return true;
    case "integer":
    case "number":
      return schema.default ?? main.minimum ?? 1;
    default:
      return exampleText(field, main);
  }
}

function exampleText(field: string, schema: Schema): string {
  const idOf = schema["idOf"] as string | undefined;
  if (idOf !== undefined && idOf in idPrefixes) {
    return formatId(idOf as IdKind, "019a8f3e-5c1d-7b42-9e60-3d7a41c8f205");
  }
  if (field.endsWith("At")) return "2030-01-31T09:00:00Z";
  if (schema.pattern === "^/") return "/srv/projects/shop";
  return byName[field] ?? "example";
}
