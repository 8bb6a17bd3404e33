// Which Unix users a separated host has. The installer made them, with `hawserd separate`. The front,
// which holds the link, runs no agent. It may start workers as the other users, and no agent can become another
// user.
import { StateError, readJson, separationPath, type State } from "../state/state.ts";

export interface UnixUser {
  user: string;
  /** The directory of its worker. */
  state: string;
}

export interface Separation {
  /** The user whose agents use the logins of the host. */
  own: UnixUser;
  /** Users for people with accounts of their own. Each serves one person. */
  people: UnixUser[];
}

/** undefined if all agents of this host run as the daemon's user. */
export function readSeparation(state: State): Separation | undefined {
  const found = readJson(separationPath(state.directory));
  if (found === undefined) return undefined;
  const { own, people } = found as Partial<Separation>;
  if (own && Array.isArray(people) && [own, ...people].every(isUser)) return { own, people };
  throw new StateError(
    `The file ${separationPath(state.directory)} is damaged. Run the install command again as root, with --separate.`,
  );
}

const isUser = ({ user, state }: Partial<UnixUser>) =>
  /^[a-z_][a-z0-9_-]{0,31}$/.test(user ?? "") && state?.startsWith("/") === true;
