// What a command of the control plane is on the host's side: how it is carried out, and whether it
// may be carried out again when a crash cut it.
import type { CommandResultOf, HostCommand, HostFacts, PayloadOf } from "@hawser/host-protocol";
import type { CodeHosting } from "../code-hosting/code-hosting.ts";
import type { Clones } from "../directories/clone.ts";
import type { Directories } from "../directories/directories.ts";
import type { Installs } from "../installs/installs.ts";
import type { Journal } from "../journal/journal.ts";
import type { Operations } from "../operations.ts";
import type { Policy } from "../policy/policy.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Updates } from "../updates/updates.ts";

/** What commands work with. */
export interface CommandContext {
  /** Of this start of the daemon. */
  bootId: string;
  journal: Journal;
  /** What the host's owner allows, as the file says now. */
  policy: () => Policy;
  operations: Operations;
  /** What of the host's directories may be seen. */
  directories: Directories;
  codeHosting: CodeHosting;
  clones: Clones;
  sessions: Sessions;
  /** Nothing on a host that installs no agents. */
  installs: Installs | undefined;
  /** Looks at the machine again, and remembers what it saw for the next heartbeat. */
  refreshFacts: () => Promise<HostFacts>;
  /** Replacing this daemon by another version; nothing when it has no supervisor. */
  updates: Pick<Updates, "order"> | undefined;
  forgetCredentials: () => void;
  /** Given at the command's deadline. */
  signal: AbortSignal;
}

/**
 * How a command ended. As a function it is called in the transaction that keeps the outcome, so that
 * what it writes to the journal costs no commit of its own; a caller waits for each.
 */
export type Ended<Name extends HostCommand> = CommandResultOf<Name> | (() => CommandResultOf<Name>);

export interface Command<Name extends HostCommand> {
  /** Doing it twice is the same as doing it once. What only reads is. */
  repeatable: boolean;
  /** The daemon stops after the answer. */
  endsHost: boolean;
  run: (payload: PayloadOf<Name>, context: CommandContext) => Ended<Name> | Promise<Ended<Name>>;
}
