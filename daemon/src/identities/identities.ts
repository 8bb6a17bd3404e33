// The agent accounts of people on this host. Each has a home of its own and, while sessions use it, a driver of
// its own. opencode has none: one server of it serves everybody.
import { join } from "node:path";
import { LinkableKind, type AgentKind } from "@hawser/contract";
import type { HostIdentity } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import { AgentNotReady, type Driver } from "../drivers/driver.ts";
import type { Account, LoginPlace, LoginProgram } from "../drivers/login.ts";
import { stampOf } from "../find-program.ts";
import { describe, type Log } from "../log.ts";
import { requireReadable, whyForbidden } from "../policy/forbidden.ts";
import type { Policy } from "../policy/policy.ts";
import type { Homes, Link } from "./homes.ts";
import { createLogins, asLoginRefusal, type LoginState, type WantedLogin } from "./logins.ts";

/** How accounts of one kind are used. */
export interface AccountKind {
  login: LoginProgram;
  /** The file in the home that the agent writes its login to. The daemon looks only at its times. */
  credentialsFile: string;
  /** How long a login lasts if the agent does not report it; null if it renews itself. */
  lastsDays: number | null;
  /** Makes a driver that uses the account in this place. */
  open(place: LoginPlace): Driver;
}

export type AccountKinds = Partial<Record<LinkableKind, AccountKind>>;

export interface IdentitiesOptions {
  homes: Homes;
  kinds: AccountKinds;
  policy: () => Policy;
  /** Restarts the driver's agents, because its account has been linked anew. */
  onLinkedAgain: (driver: Driver) => Promise<void>;
  /** Ends the agents of the account's sessions. `driver` is undefined if none of them was used. */
  onUnlink: (ownerId: string, kind: LinkableKind, driver: Driver | undefined) => Promise<void>;
  /** The control plane's time in milliseconds. */
  now: () => number;
  log: Log;
}

export interface Identities {
  /** The driver with this person's account; undefined if the person has linked none of this kind. */
  driver(kind: AgentKind, ownerId: string): Driver | undefined;
  /** The drivers in use. */
  drivers(): Driver[];
  /** Start ids (HAWSER_AGENT) of the programs that log in or that are asked about a login. */
  liveStarts(): string[];
  list(signal: AbortSignal): Promise<HostIdentity[]>;
  /** Throws refusals. */
  startLogin(
    wanted: WantedLogin,
    signal: AbortSignal,
  ): ReturnType<ReturnType<typeof createLogins>["start"]>;
  readLogin(loginId: string, ownerId: string): LoginState;
  submitLogin(loginId: string, ownerId: string, code: string): Promise<LoginState>;
  /** Every kind if it is null. Returns false if nothing was linked. */
  unlink(ownerId: string, kind: LinkableKind | null, signal: AbortSignal): Promise<boolean>;
  close(ending?: { removesHomes: boolean }): Promise<void>;
}

interface Known {
  stamp: string | undefined;
  account: Account | undefined;
  at: number;
}

const dayMs = 24 * 3600_000;
const accountAgeMs = 10 * 60_000;
const logOutMs = 10_000;

export function createIdentities(options: IdentitiesOptions): Identities {
  const { homes, kinds, policy, now, log } = options;
  const open = new Map<string, { driver: Driver; ownerId: string; kind: LinkableKind }>();
  const keyOf = (ownerId: string, kind: LinkableKind) => `${ownerId} ${kind}`;
  /** What an agent said about its login. Asked again if the file of the login has changed, and after a while. */
  const known = new Map<string, Known>();

  function usable(kind: LinkableKind): AccountKind {
    const found = kinds[kind];
    if (found) return found;
    throw new CommandRefusal("agent_not_ready", `This host has no logins for ${kind}. Update it.`);
  }

  const logins = createLogins({
    program: (kind) => usable(kind).login,
    place: (ownerId, kind) => homes.open(ownerId, kind),
    async onDone({ ownerId, kind }, account) {
      const { lastsDays } = usable(kind);
      const expiresAt =
        lastsDays === null ? null : new Date(now() + lastsDays * dayMs).toISOString();
      homes.save({ ownerId, kind, ...account, expiresAt });
      const used = open.get(keyOf(ownerId, kind));
      if (used) await options.onLinkedAgain(used.driver);
      return expiresAt;
    },
  });

  /** undefined if the account is not logged in. Throws AgentNotReady. */
  async function readAccount(
    { ownerId, kind, ...linked }: Link,
    signal: AbortSignal,
  ): Promise<Account | undefined> {
    // A second process of codex that renews the login at the same moment would end it.
    const used = open.get(keyOf(ownerId, kind));
    if (used) {
      const { problems } = await used.driver.readState(signal);
      return problems.some(({ code }) => code === "not_logged_in") ? undefined : linked;
    }
    const { login, credentialsFile } = usable(kind);
    const place = homes.open(ownerId, kind);
    const stamp = stampOf(join(place.home, credentialsFile));
    const before = known.get(keyOf(ownerId, kind));
    const isFresh = before && performance.now() - before.at < accountAgeMs;
    if (isFresh && before.stamp === stamp) return before.account;
    const account = await login.readAccount(place, signal);
    known.set(keyOf(ownerId, kind), { stamp, account, at: performance.now() });
    return account;
  }

  async function describeLink(link: Link, signal: AbortSignal): Promise<HostIdentity> {
    const { ownerId, kind, account, plan, expiresAt } = link;
    const shown = { ownerId, kind, expiresAt };
    const driver = open.get(keyOf(ownerId, kind))?.driver;
    try {
      const found = await readAccount(link, signal);
      const utilization = (await driver?.readUtilization?.(signal)) ?? null;
      const { account: name, plan: current } = found ?? { account, plan };
      return {
        ...shown,
        authenticated: found !== undefined,
        account: name,
        plan: current,
        utilization,
      };
    } catch (error) {
      // Its agent does not run at the moment, so nobody can use the login.
      log.warn("an account could not be read", { ownerId, kind, error: describe(error) });
      return { ...shown, authenticated: false, account, plan, utilization: null };
    }
  }

  async function unlinkOne(
    ownerId: string,
    kind: LinkableKind,
    signal: AbortSignal,
  ): Promise<boolean> {
    const key = keyOf(ownerId, kind);
    await logins.cancelOf(ownerId, kind, "The account was unlinked.");
    // First, so that nothing starts with the account any more.
    const isLinked = homes.unlink(ownerId, kind);
    await options.onUnlink(ownerId, kind, open.get(key)?.driver);
    if (isLinked) {
      const soon = AbortSignal.any([signal, AbortSignal.timeout(logOutMs)]);
      await kinds[kind]?.login.logOut(homes.open(ownerId, kind), soon);
    }
    open.delete(key);
    known.delete(key);
    homes.remove(ownerId, kind);
    if (isLinked) log.info("an account was unlinked", { ownerId, kind });
    return isLinked;
  }

  return {
    driver(kind, ownerId) {
      const linkable = LinkableKind.safeParse(kind).data;
      if (!linkable || !kinds[linkable] || !homes.find(ownerId, linkable)) return undefined;
      const key = keyOf(ownerId, linkable);
      const used = open.get(key);
      if (used) return used.driver;
      const driver = usable(linkable).open(homes.open(ownerId, linkable));
      open.set(key, { driver, ownerId, kind: linkable });
      return driver;
    },
    drivers: () => [...open.values()].map(({ driver }) => driver),
    liveStarts: () => Object.values(kinds).flatMap(({ login }) => login.liveStarts()),
    async list(signal) {
      const shown: HostIdentity[] = [];
      // One after the other: each may start a program.
      for (const link of homes.list()) shown.push(await describeLink(link, signal));
      return shown;
    },
    async startLogin(wanted, signal) {
      const { sharedLogins } = requireReadable(policy());
      const forbidden = whyForbidden(policy(), wanted.kind, { usesOwnLogin: false });
      if (forbidden !== undefined) throw new CommandRefusal("agent_not_ready", forbidden);
      if (!sharedLogins) throw notSeparated();
      try {
        return await logins.start(wanted, signal);
      } catch (error) {
        if (error instanceof AgentNotReady) {
          throw new CommandRefusal("agent_not_ready", error.message);
        }
        throw asLoginRefusal(error) ?? error;
      }
    },
    readLogin: logins.read,
    submitLogin: (loginId, ownerId, code) => logins.submit(loginId, ownerId, code),
    async unlink(ownerId, kind, signal) {
      let wasLinked = false;
      for (const each of kind === null ? LinkableKind.options : [kind]) {
        wasLinked = (await unlinkOne(ownerId, each, signal)) || wasLinked;
      }
      return wasLinked;
    },
    async close({ removesHomes } = { removesHomes: false }) {
      await logins.close();
      if (removesHomes) homes.removeAll();
    },
  };
}

const notSeparated = () =>
  new CommandRefusal(
    "logins_not_separated",
    'Agents of all people run as the same user of this host, so each could read the logins of the others. If the host\'s owner accepts that, write "shared-logins = yes" into its policy file.',
  );
