// A user's own agent accounts on a host: listing, linking and unlinking them. These actions act for the
// calling user, so a key of the organization can only list.
import { z } from "zod";
import { action } from "../action.ts";
import { SealedSecret, checkWay } from "../link-way.ts";
import { hostRefusals } from "../errors.ts";
import { InstanceId, LoginId } from "../ids.ts";
import { LinkableKind } from "../records/agent-kind.ts";
import { freshness } from "../records/directory.ts";
import { IdentityRecord, LinkWay, SealingKey } from "../records/identity.ts";
import { LoginRecord } from "../records/login.ts";
import { neverLogged, text } from "../text.ts";

export const identityActions = {
  list_agent_identities: action({
    summary: "List the agent accounts the calling user has linked on a host.",
    details:
      "`all` also needs instances:edit. A key of the organization has no accounts of its own. If the host is offline, its last answer is repeated with `live` false.",
    group: "hosts",
    permission: "instances:view",
    extraPermission: { when: (input) => input.all === true, permission: "instances:edit" },
    effect: "reads",
    reach: "host",
    input: z.strictObject({
      instanceId: InstanceId,
      all: z
        .boolean()
        .meta({ description: "True lists every user's accounts.", default: false })
        .optional(),
    }),
    result: z.strictObject({
      identities: z.array(IdentityRecord),
      separated: z.boolean().nullable().meta({
        description:
          "Whether the host runs each account's agents as a Unix user of their own; null if unknown.",
      }),
      sealingKey: SealingKey.nullable().meta({
        description: "Seals secrets for link_agent_identity; null if the host did not report it.",
      }),
      ...freshness,
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  start_agent_login: action({
    summary: "Begin to link the calling user's agent account on a host, or to renew the link.",
    details:
      "Open `authorizationUrl` in a browser. With flow paste_code, send its code with submit_agent_login. With device_code, type `userCode` there and call poll_agent_login until it is done. Expires after 15 minutes.",
    group: "hosts",
    permission: "instances:view",
    effect: "changes",
    reach: "host",
    shownBy: "list_agent_identities",
    input: z.strictObject({
      instanceId: InstanceId,
      kind: LinkableKind,
      email: z
        .string()
        .meta({ description: "Prefilled in the login page; codex ignores it." })
        .optional(),
    }),
    result: LoginRecord,
    refusals: [
      "not_found",
      "user_key_required",
      "login_not_allowed",
      "login_failed",
      "agent_not_ready",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  poll_agent_login: action({
    summary: "Show the state of a login attempt of the calling user.",
    group: "hosts",
    permission: "instances:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ loginId: LoginId }),
    result: LoginRecord,
    refusals: ["not_found", "user_key_required"],
    closedToAgents: true,
  }),

  submit_agent_login: action({
    summary: "Complete a login attempt with the code from the browser.",
    details: "A wrong code ends the attempt; start a new one.",
    group: "hosts",
    permission: "instances:view",
    effect: "changes",
    reach: "host",
    shownBy: "poll_agent_login",
    input: z.strictObject({
      loginId: LoginId,
      code: neverLogged(
        text({ min: 1, max: 4096 }).meta({ description: "The code that the browser shows." }),
      ),
    }),
    result: LoginRecord,
    refusals: [
      "not_found",
      "user_key_required",
      "login_failed",
      "wrong_login_flow",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  link_agent_identity: action({
    summary:
      "Link an API key, a gateway or a cloud account as the calling user's agent account on a host.",
    details:
      "`sealedSecret` is a compact JWE (RSA-OAEP-256, A256GCM) for `sealingKey` of list_agent_identities. Its plaintext is JSON with `userId`, `secret` and the other fields of this call but `instanceId`. Replaces the user's earlier account of this kind, and interrupts its turns.",
    group: "hosts",
    permission: "instances:view",
    effect: "changes",
    reach: "host",
    shownBy: "list_agent_identities",
    input: z
      .strictObject({
        instanceId: InstanceId,
        kind: LinkableKind,
        way: LinkWay,
        sealedSecret: neverLogged(SealedSecret),
        baseUrl: text({ min: 1, max: 2048 })
          .meta({
            description:
              "For gateway: its address. claude_code adds /v1/messages, codex /responses.",
          })
          .optional(),
        region: text({ min: 1, max: 40 })
          .meta({ description: "For bedrock and vertex." })
          .optional(),
        projectId: text({ min: 1, max: 100 }).meta({ description: "For vertex." }).optional(),
      })
      .check(checkWay),
    result: IdentityRecord,
    refusals: [
      "not_found",
      "user_key_required",
      "login_not_allowed",
      "login_failed",
      "agent_not_ready",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  unlink_agent_identity: action({
    summary: "Remove the calling user's agent account from a host.",
    details:
      "Deletes its directory on the host, with credentials and transcripts. Its live sessions stop with an error.",
    group: "hosts",
    permission: "instances:view",
    effect: "destroys",
    idempotent: true,
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId, kind: LinkableKind }),
    result: z.strictObject({
      instanceId: InstanceId,
      kind: LinkableKind,
      unlinked: z.boolean().meta({ description: "False if no account was linked." }),
    }),
    refusals: ["not_found", "user_key_required", ...hostRefusals],
    closedToAgents: true,
  }),
};
