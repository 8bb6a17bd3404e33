// Commands about exposures: direct access to the opencode of a host, or to a server that a session runs, for a
// limited time. The host dials the control plane, so it needs no port of its own that others can reach.
import { ExposureId, SessionId, SessionMode } from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";

const LocalPort = z.int().min(1).max(65_535);

/**
 * What an exposure reaches: all sessions that Hawser manages in the host's opencode, one of them, or a port on
 * which a process of a session listens.
 */
export const ExposureScope = z.union([
  z.strictObject({ kind: z.literal("instance") }),
  z.strictObject({ kind: z.literal("session"), sessionId: SessionId }),
  z.strictObject({ kind: z.literal("port"), sessionId: SessionId, port: LocalPort }),
]);
export type ExposureScope = z.infer<typeof ExposureScope>;

export const exposureCommands = {
  /** Whether the host gives direct access of this scope. Starts opencode if its scope needs it. */
  check_exposure: {
    effect: "reads",
    payload: z.strictObject({ scope: ExposureScope }),
    result: z.strictObject({
      /** Where opencode's terminal client begins; null for a port, or if the host has no session of opencode. */
      directory: z.string().nullable(),
      /** opencode's own id of the session in which its clients begin; null for a port, or if there is none. */
      agentSessionId: z.string().nullable(),
    }),
    deadlineMs: 28_000,
    refusals: ["agent_not_ready", "capability_missing", "session_ended"],
  },
  /** The ports on which processes of a session listen, in order. */
  list_session_ports: {
    effect: "reads",
    payload: z.strictObject({ sessionId: SessionId }),
    result: z.strictObject({
      ports: z.array(
        z.strictObject({
          port: LocalPort,
          /** Name of the program that listens; null if it cannot be read. */
          program: z.string().nullable(),
        }),
      ),
    }),
    deadlineMs: 10_000,
    refusals: ["session_ended"],
  },
  /**
   * Opens a WebSocket to the control plane that the host is paired with, and serves what the scope reaches over it: HTTP/2, with the host as the server.
   * Answered when the WebSocket is open.
   */
  open_tunnel: {
    effect: "changes",
    payload: z.strictObject({
      exposureId: ExposureId,
      /** Sent as bearer token, so that the control plane knows which exposure the WebSocket is for. */
      ticket: z.string().regex(/^[\x21-\x7e]{1,4096}$/),
      /** The host closes the tunnel then. */
      expiresAt: z.iso.datetime(),
      scope: ExposureScope,
      /** The widest mode of sessions that the organization allows. Narrows the mode of each that is prompted. */
      highestMode: SessionMode.optional(),
    }),
    /** already_open: the exposure has a tunnel, which stays as it is. */
    result: z.strictObject({ status: z.enum(["opened", "already_open"]) }),
    deadlineMs: 28_000,
    refusals: ["agent_not_ready", "capability_missing", "session_ended"],
  },
} as const satisfies Record<string, CommandKind>;
