// What the control plane can ask of a daemon: each command with its payload, its result and how long
// it may take. A command is signed, so that being able to publish on the fabric is not enough to
// command a host.
import { createHash } from "node:crypto";
import { AgentKind, DirectoryRecord, HostedRepositoryRecord, RootListing } from "@hawser/contract";
import { z } from "zod";
import { codeCommands } from "./code-commands.ts";
import type { CommandKind } from "./command-kind.ts";
import { HostFacts } from "./facts.ts";
import { isSignedBy, signWith } from "./nkey.ts";
import { sessionFileCommands } from "./session-file-commands.ts";
import { sessionCommands } from "./session-commands.ts";

export const hostCommands = {
  ...sessionCommands,
  ...sessionFileCommands,
  ...codeCommands,
  /** Looks at the machine again. `runs` counts how often this host has done it, in its journal. */
  refresh_host_facts: {
    effect: "changes",
    payload: z.strictObject({}),
    result: z.strictObject({
      facts: HostFacts,
      runs: z.int().min(1),
      /** Whose facts they are: another start of the daemon may have spoken since. */
      bootId: z.string().optional(),
    }),
    deadlineMs: 10_000,
  },
  /** What the account of the host's code-hosting client can reach. */
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
      /** The repository's own when left out. */
      name: z.string().optional(),
    }),
    result: DirectoryRecord,
    // What git may take. Nobody waits for that long: it is asked again under the same id.
    deadlineMs: 30 * 60_000,
    refusals: ["not_found", "already_exists"],
  },
  /** Replace the daemon by the version that the service publishes. Answered when it has begun. */
  update_daemon: {
    effect: "changes",
    payload: z.strictObject({}),
    result: z.strictObject({ status: z.enum(["installed", "in_progress"]), version: z.string() }),
    deadlineMs: 15_000,
  },
  /** Has an agent installed in the version the service ships; `waitMs` is how long to wait for that. */
  install_agent: {
    effect: "changes",
    payload: z.strictObject({ kind: AgentKind, waitMs: z.int().min(0).max(10_000) }),
    result: z.strictObject({ status: z.enum(["installed", "in_progress"]), version: z.string() }),
    deadlineMs: 20_000,
  },
  /** Which agents there are, and what stands in their way. */
  list_agents: {
    effect: "reads",
    payload: z.strictObject({}),
    result: HostFacts.pick({ agents: true }),
    deadlineMs: 5_000,
  },
  /** Stop, and forget the credentials: the instance is gone. */
  forget_host: {
    effect: "changes",
    payload: z.strictObject({}),
    result: z.strictObject({}),
    // The host is cut off right after; one that does not answer must not delay that.
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

/** What is signed, as JSON text. */
export const CommandBody = z.strictObject({
  command: z.string(),
  /** The daemon refuses a command that it sees later than this. */
  deadlineAt: z.iso.datetime(),
  /** Who asked, for the host's own log. */
  actor: z.strictObject({ type: z.string(), id: z.string() }),
  payload: z.record(z.string(), z.unknown()),
});
export type CommandBody = z.infer<typeof CommandBody>;

/** A command on the wire. The body travels as the very text that was signed. */
export const SignedCommand = z.strictObject({
  instanceId: z.string(),
  commandId: z.uuid(),
  issuedAt: z.iso.datetime(),
  body: z.string(),
  signature: z.string(),
});
export type SignedCommand = z.infer<typeof SignedCommand>;

/** The end of a command. The same command id always gets the same one. */
export const CommandReply = z.strictObject({
  commandId: z.uuid(),
  outcome: z.union([
    z.strictObject({ result: z.record(z.string(), z.unknown()) }),
    z.strictObject({
      refusal: z.strictObject({
        code: z.string(),
        message: z.string(),
        /** Which of the caller's fields is to blame, for `invalid_input`. */
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

/** Whether the control plane whose key was pinned at pairing made this command, for this host. */
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
