// What a command of the control plane is on the host's side: how it is carried out, and whether it
// may be carried out again when a crash cut it.
import type { CommandResultOf, HostCommand, HostFacts, PayloadOf } from "@hawser/host-protocol";
import type { Journal } from "../journal/journal.ts";

/** What commands work with. */
export interface CommandContext {
  journal: Journal;
  /** Looks at the machine again, and remembers what it saw for the next heartbeat. */
  refreshFacts: () => HostFacts;
  forgetCredentials: () => void;
  /** Given at the command's deadline. */
  signal: AbortSignal;
}

export interface Command<Name extends HostCommand> {
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean;
  /** The daemon stops after the answer. */
  endsHost: boolean;
  run: (
    payload: PayloadOf<Name>,
    context: CommandContext,
  ) => CommandResultOf<Name> | Promise<CommandResultOf<Name>>;
}
