// Commands of the control plane to a daemon, each with payload, result and deadline. Commands are signed:
// being able to publish on the fabric is not enough to command a host.
import { createHash } from "node:crypto";
import { AgentKind, DirectoryRecord, HostedRepositoryRecord, RootListing } from "@hawser/contract";
import { z } from "zod";
import { codeCommands } from "./code-commands.ts";
import type { CommandKind } from "./command-kind.ts";
import { exposureCommands } from "./exposure-commands.ts";
import { HostFacts } from "./facts.ts";
import { identityCommands } from "./identity-commands.ts";
import { isSignedBy, signWith } from "./nkey.ts";
import { sessionFileCommands } from "./session-file-commands.ts";
import { sessionCommands } from "./session-commands.ts";
import { sessionQueueCommands } from "./session-queue-commands.ts";
import { sessionRuleCommands } from "./session-rule-commands.ts";

export const hostCommands = {
  ...sessionCommands,
  ...sessionFileCommands,
  ...sessionQueueCommands,
  ...sessionRuleCommands,
  ...codeCommands,
  ...identityCommands,
  ...exposureCommands,
  /** Inspects the machine again. `runs` counts, in the journal, how often this host has done it. */
  refresh_host_facts: {
    effect: "changes",
    payload: z.strictObject({}),
    result: z.strictObject({
      facts: HostFacts,
      runs: z.int().min(1),
      /** The daemon's start that these facts belong to; a later start may have reported since. */
      bootId: z.string().optional(),
    }),
    deadlineMs: 10_000,
  },
  /** Repositories that the account of the host's code-hosting client can reach. */
  list_github_repos: {
    effect: "reads",
    payload: z.strictObject({ query: z.string(), limit: z.int().min(1) }),
    result: z.strictObject({
      repositories: z.array(HostedRepositoryRecord),
      reason: z.enum(["cli_not_installed", "not_logged_in"]).nullable(),
    }),
    deadlineMs: 20_000,
  },
  /** Clones with the host's own credentials into a folder root. Exactly one of `repo` and `url`. */
  clone_repository: {
    effect: "changes",
    payload: z.strictObject({
      rootPath: z.string(),
      repo: z.string().optional(),
      url: z.string().optional(),
      /** Default: the repository's own name. */
      name: z.string().optional(),
    }),
    result: DirectoryRecord,
    // Git's time limit. No caller waits that long: the command is repeated under the same id.
    deadlineMs: 30 * 60_000,
    refusals: ["not_found", "already_exists"],
  },
  /** Replaces the daemon by the version that the service publishes. Answered when the update has begun. */
  update_daemon: {
    effect: "changes",
    payload: z.strictObject({}),
    result: z.strictObject({ status: z.enum(["installed", "in_progress"]), version: z.string() }),
    deadlineMs: 15_000,
  },
  /** Installs an agent in the version the service ships, and waits up to `waitMs` for it. */
  install_agent: {
    effect: "changes",
    payload: z.strictObject({ kind: AgentKind, waitMs: z.int().min(0).max(10_000) }),
    result: z.strictObject({ status: z.enum(["installed", "in_progress"]), version: z.string() }),
    deadlineMs: 20_000,
  },
  /** Lists the agents, and why one cannot be used. */
  list_agents: {
    effect: "reads",
    payload: z.strictObject({}),
    result: HostFacts.pick({ agents: true }),
    deadlineMs: 5_000,
  },
  /**
   * Replaces the keys whose commands the host accepts. Answered once the new keys are on disk. The
   * control plane sends it signed by a key that the host has pinned before.
   */
  pin_command_keys: {
    effect: "changes",
    payload: z.strictObject({
      keys: z
        .array(z.string().regex(/^[A-Za-z0-9+/]{43}=$/))
        .min(1)
        .max(2),
    }),
    result: z.strictObject({}),
    deadlineMs: 10_000,
  },
  /** Gets a new host token, and connects with it. Answered when the renewal has begun. */
  renew_token: {
    effect: "changes",
    payload: z.strictObject({}),
    result: z.strictObject({}),
    deadlineMs: 10_000,
  },
  /**
   * Deletes the credentials and stops: the instance no longer exists. Only the host with this key obeys, so
   * that a recorded command has no effect on a host that is paired later.
   */
  forget_host: {
    effect: "changes",
    payload: z.strictObject({ hostKey: z.string() }),
    result: z.strictObject({}),
    // The host is disconnected right afterwards; a host that does not answer must not delay that.
    deadlineMs: 600,
  },
  list_directories: {
    effect: "reads",
    payload: z.strictObject({}),
    result: z.strictObject({ roots: z.array(RootListing) }),
    deadlineMs: 10_000,
  },
  browse_directory: {
    effect: "reads",
    payload: z.strictObject({ path: z.string() }),
    result: z.strictObject({ directories: z.array(DirectoryRecord), truncated: z.boolean() }),
    deadlineMs: 10_000,
    refusals: ["not_found"],
  },
} as const satisfies Record<string, CommandKind>;

export type HostCommand = keyof typeof hostCommands;
export type PayloadOf<Name extends HostCommand> = z.output<(typeof hostCommands)[Name]["payload"]>;
export type CommandResultOf<Name extends HostCommand> = z.output<
  (typeof hostCommands)[Name]["result"]
>;

/** The signed part, as JSON text. */
export const CommandBody = z.strictObject({
  command: z.string(),
  /** The daemon refuses a command that arrives later than this. */
  deadlineAt: z.iso.datetime(),
  /** The caller, for the host's own log. */
  actor: z.strictObject({ type: z.string(), id: z.string() }),
  payload: z.record(z.string(), z.unknown()),
});
export type CommandBody = z.infer<typeof CommandBody>;

/** A command as it is sent. The body is exactly the text that was signed. */
export const SignedCommand = z.strictObject({
  instanceId: z.string(),
  commandId: z.uuid(),
  issuedAt: z.iso.datetime(),
  body: z.string(),
  signature: z.string(),
});
export type SignedCommand = z.infer<typeof SignedCommand>;

/** Outcome of a command. The same command id always gets the same outcome. */
export const CommandReply = z.strictObject({
  commandId: z.uuid(),
  outcome: z.union([
    z.strictObject({ result: z.record(z.string(), z.unknown()) }),
    z.strictObject({
      refusal: z.strictObject({
        code: z.string(),
        message: z.string(),
        /** The caller's field that is wrong, for `invalid_input`. */
        field: z.string().optional(),
      }),
    }),
  ]),
});
export type CommandReply = z.infer<typeof CommandReply>;
export type CommandOutcome = CommandReply["outcome"];

export function signCommand(
  privateKey: string,
  command: { instanceId: string; commandId: string; issuedAt: string; body: CommandBody },
): SignedCommand {
  const unsigned = { ...command, body: JSON.stringify(command.body) };
  return { ...unsigned, signature: signWith(privateKey, signedText(unsigned)) };
}

/** Whether this key of the control plane signed this command, for this host. */
export function isGenuine(commandKey: string, instanceId: string, command: SignedCommand): boolean {
  return (
    command.instanceId === instanceId &&
    isSignedBy(commandKey, signedText(command), command.signature)
  );
}

function signedText({
  instanceId,
  commandId,
  issuedAt,
  body,
}: Omit<SignedCommand, "signature">): string {
  const hash = createHash("sha256").update(body).digest("hex");
  return ["hawser command 1", instanceId, commandId, issuedAt, hash].join("\n");
}
