// The form of a sealed secret, and the fields that name a linked account beside it: a gateway's address, a cloud's
// region and project. Agents receive them as settings, so anything that could be read as something else is refused.
import type { z } from "zod";
import type { Objection } from "./clone-source.ts";
import { objectTo } from "./exactly-one.ts";
import type { LinkableKind } from "./records/agent-kind.ts";
import type { LinkWay } from "./records/identity.ts";
import { text } from "./text.ts";

interface Named {
  kind: LinkableKind;
  way: LinkWay;
  baseUrl?: string | undefined;
  region?: string | undefined;
  projectId?: string | undefined;
}

type NamingField = "baseUrl" | "region" | "projectId";

/** The fields that each way needs. It accepts none of the others. */
const fieldsOfWay: Record<LinkWay, readonly NamingField[]> = {
  api_key: [],
  gateway: ["baseUrl"],
  bedrock: ["region"],
  vertex: ["region", "projectId"],
};

const objections: Record<NamingField, (value: string) => Objection> = {
  baseUrl: objectToGateway,
  region: (value) =>
    /^[a-z0-9-]+$/.test(value) ? null : "must consist of small letters, digits and hyphens",
  projectId: (value) =>
    /^[a-z0-9][a-z0-9.:-]*$/.test(value)
      ? null
      : "must consist of small letters, digits, hyphens, dots and colons",
};

/** Refuses a way that the kind does not support, missing fields, and fields of another way. */
export function checkWay(payload: z.core.ParsePayload<Named>): void {
  const { kind, way, ...named } = payload.value;
  if (kind === "codex" && way === "vertex") {
    objectTo(payload, ["way"], "must not be vertex for codex, which cannot use Google Vertex AI");
  }
  for (const field of ["baseUrl", "region", "projectId"] as const) {
    const value = named[field];
    const isNeeded = fieldsOfWay[way].includes(field);
    if (value === undefined) {
      if (isNeeded) objectTo(payload, [field], `is missing: the way ${way} needs it`);
      continue;
    }
    const objection = isNeeded
      ? objections[field](value)
      : `must be left out: the way ${way} does not use it`;
    if (objection !== null) objectTo(payload, [field], objection);
  }
}

const sealedPattern = /^[\w-]+(\.[\w-]+){4}$/;

/** Only the form is checked; only the host can open it. */
export const SealedSecret = text({ min: 1, max: 32_768 })
  .check((context) => {
    if (sealedPattern.test(context.value)) return;
    context.issues.push({
      code: "custom",
      // An issue must not repeat what may be the secret itself.
      input: undefined,
      message:
        "must be a compact JWE: five base64url parts with dots between them. Do not send the secret itself: seal it with sealingKey of list_agent_identities",
    });
  })
  .meta({
    pattern: sealedPattern.source,
    description: "The sealed key or token; for vertex a sealed Google credentials file.",
  });

/** Validates the address of a gateway. */
export function objectToGateway(address: string): Objection {
  const url = URL.parse(address);
  // The parser repairs what agents might read differently, such as a backslash, a third slash, or an @ without a
  // name before it.
  const isPlain =
    /^https?:\/\/[A-Za-z0-9[][\x21-\x7e]*$/.test(address) && !/[\\"'`<>{}|^]/.test(address);
  if (!url || !isPlain) {
    return "must be an http:// or https:// address, with the host directly after the slashes";
  }
  if (url.username !== "" || url.password !== "") {
    return "must not contain credentials; they belong into the sealed secret";
  }
  if (/[?#]/.test(address)) return "must not contain a query or a fragment";
  return null;
}
