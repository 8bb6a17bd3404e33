// Exposures: direct access to a host's opencode server, or to a server that a session runs, for a limited time.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { ExposureId, InstanceId, SessionId } from "../ids.ts";
import { ExposureRecord, NewExposure, NewPreview, SessionPort } from "../records/exposure.ts";

const ttlMinutes = z
  .literal([60, 480, 1440])
  .meta({ type: "integer", description: "Lifetime in minutes." });

export const exposureActions = {
  list_exposures: action({
    summary: "List a host's exposures that are neither expired nor revoked.",
    group: "hosts",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ instanceId: InstanceId }),
    result: z.strictObject({ exposures: z.array(ExposureRecord) }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  create_exposure: action({
    summary: "Open direct access to a host's opencode, or to one session of it, for a set time.",
    details:
      "For opencode's terminal client and web app. The password is shown only here. With it, anyone can prompt the agent, and so run commands as the host's user.",
    group: "hosts",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "list_exposures",
    input: z.strictObject({
      instanceId: InstanceId,
      sessionId: SessionId.meta({ description: "Narrows the access to this session." }).optional(),
      ttlMinutes,
    }),
    result: NewExposure,
    needsFreshSignIn: true,
    refusals: [
      "not_found",
      "agent_not_ready",
      "capability_missing",
      "session_ended",
      "limit_reached",
      ...hostRefusals,
    ],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),

  list_session_ports: action({
    summary: "List the ports on which a session's servers listen.",
    group: "hosts",
    permission: "sessions:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ sessionId: SessionId }),
    result: z.strictObject({
      ports: z
        .array(
          z.strictObject({
            port: SessionPort.meta({ description: "The port on the host." }),
            program: z
              .string()
              .nullable()
              .meta({ description: "The program that listens; null if it cannot be read." }),
          }),
        )
        .meta({ description: "In order." }),
    }),
    refusals: ["not_found", "session_ended", ...hostRefusals],
    closedToAgents: true,
  }),

  create_preview: action({
    summary: "Open a web server that a session runs to a browser, for a set time.",
    details:
      "Works while a process of the session listens on the port. The password is shown only here. list_exposures lists it, revoke_exposure ends it.",
    group: "hosts",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "list_exposures",
    input: z.strictObject({
      sessionId: SessionId,
      port: SessionPort.meta({ description: "From list_session_ports." }),
      ttlMinutes,
    }),
    result: NewPreview,
    needsFreshSignIn: true,
    refusals: ["not_found", "session_ended", "limit_reached", ...hostRefusals],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),

  revoke_exposure: action({
    summary: "End an exposure and cut its open connections.",
    group: "hosts",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ exposureId: ExposureId }),
    result: z.strictObject({
      exposureId: ExposureId,
      revoked: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),
};
