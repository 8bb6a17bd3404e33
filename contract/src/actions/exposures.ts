// Exposures: listing and opening direct access to a host's opencode server.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { InstanceId, SessionId } from "../ids.ts";
import { ExposureRecord, NewExposure } from "../records/exposure.ts";

export const exposureActions = {
  list_exposures: action({
    summary: "List a host's exposures that have not expired.",
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
      "The address serves opencode's terminal client and web app. It needs the username and the password; the password is shown only here.",
    group: "hosts",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "list_exposures",
    input: z.strictObject({
      instanceId: InstanceId,
      sessionId: SessionId.meta({ description: "Narrows the access to this session." }).optional(),
      ttlMinutes: z
        .literal([60, 480, 1440])
        .meta({ type: "integer", description: "Lifetime in minutes." }),
    }),
    result: NewExposure,
    refusals: [
      "not_found",
      "agent_not_ready",
      "capability_missing",
      "session_ended",
      ...hostRefusals,
    ],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),
};
