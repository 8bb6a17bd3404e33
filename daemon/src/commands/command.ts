// What a command is on the host: how it is carried out, and whether it may be carried out again after
// a crash interrupted it.
import type {
  CommandResultOf,
  HostCommand,
  HostFacts,
  PayloadOf,
  hostCommands,
} from "@hawser/host-protocol";
import type { CodeHosting } from "../code-hosting/code-hosting.ts";
import type { Clones } from "../directories/clone.ts";
import type { Directories } from "../directories/directories.ts";
import type { Exposures } from "../exposures/exposures.ts";
import type { Identities } from "../identities/identities.ts";
import type { Installs } from "../installs/installs.ts";
import type { Journal } from "../journal/journal.ts";
import type { Operations } from "../operations.ts";
import type { Policy } from "../policy/policy.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Updates } from "../updates/updates.ts";

/** The parts of the host that commands use. */
export interface CommandContext {
  /** Identifies this start of the daemon. */
  bootId: string;
  journal: Journal;
  /** Reads the owner's policy file, as it is now. */
  policy: () => Policy;
  operations: Operations;
  directories: Directories;
  codeHosting: CodeHosting;
  clones: Clones;
  sessions: Sessions;
  identities: Identities;
  exposures: Exposures;
  /** undefined if this host installs no agents. */
  installs: Installs | undefined;
  /** Reads the facts about the machine again. Changed ones are also reported by a heartbeat. */
  refreshFacts: () => Promise<HostFacts>;
  /** Replaces this daemon with another version; undefined if it has no supervisor. */
  updates: Pick<Updates, "order"> | undefined;
  forgetCredentials: () => void;
  /** Replaces the keys whose commands are accepted. They are on disk when it returns. */
  pinCommandKeys: (keys: readonly string[]) => void;
  /** Begins to renew the host token. */
  renewToken: () => void;
  /** Aborted at the command's deadline. */
  signal: AbortSignal;
}

/**
 * The result of a command. A function is called in the transaction that records the outcome, so that
 * what it writes to the journal needs no commit of its own; a caller waits for every commit.
 */
export type Ended<Name extends HostCommand> = CommandResultOf<Name> | (() => CommandResultOf<Name>);

interface ReadingCommand<Name extends HostCommand> {
  run: (payload: PayloadOf<Name>, context: CommandContext) => Ended<Name> | Promise<Ended<Name>>;
}

export interface ChangingCommand<Name extends HostCommand> extends ReadingCommand<Name> {
  /** Whether running it twice has the same effect as running it once. */
  repeatable: boolean;
  /** Whether the daemon stops after its reply. The payload of such a command names the host's key. */
  endsHost?: boolean;
}

/** A command of which host-protocol says that it only reads can always run again. */
export type Command<Name extends HostCommand> =
  (typeof hostCommands)[Name]["effect"] extends "reads"
    ? ReadingCommand<Name>
    : ChangingCommand<Name>;
