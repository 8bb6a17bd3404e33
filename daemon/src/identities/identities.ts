// The agent accounts of people on this host. Each has a home of its own and, while sessions use it, a driver of
// its own. opencode has none: one server of it serves everybody.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { LinkableKind, objectToGateway, type AgentKind, type SealingKey } from "@hawser/contract";
import type { HostIdentity, PayloadOf } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import { abortable } from "../drivers/abortable.ts";
import { AgentNotReady, type Driver } from "../drivers/driver.ts";
import type { Access, Account, LoginProgram } from "../drivers/login.ts";
import { openQuota } from "../drivers/quota.ts";
import { stampOf } from "../find-program.ts";
import { describe, type Log } from "../log.ts";
import { requireReadable, whyForbidden } from "../policy/forbidden.ts";
import type { Policy } from "../policy/policy.ts";
import { bySubscription, nameOf, type AccountPlace, type Homes, type Link } from "./homes.ts";
import { createLines } from "./lines.ts";
import { createLogins, refusing, type LoginState, type WantedLogin } from "./logins.ts";
import type { Sealing } from "./sealing.ts";

/** How accounts of one kind are used. */
export interface AccountKind {
  login: LoginProgram;
  /** The file in the home that the agent writes its login to. The daemon looks only at its times. */
  credentialsFile: string;
  /** How long a login lasts if the agent does not report it; null if it renews itself. */
  lastsDays: number | null;
  /** Whether a running agent goes on with its former login, and has to be restarted. */
  keepsFormerLogin: boolean;
  /** Makes a driver that uses the account in this place. `access` throws AgentNotReady if it cannot be used now. */
  open(place: AccountPlace, access: () => Access): Driver;
}

export type AccountKinds = Partial<Record<LinkableKind, AccountKind>>;

export interface IdentitiesOptions {
  homes: Homes;
  kinds: AccountKinds;
  sealing: Sealing;
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
  /** Kinds of which somebody has linked an account. */
  linkedKinds(): LinkableKind[];
  /** Throws refusals. */
  startLogin(
    wanted: WantedLogin,
    signal: AbortSignal,
  ): ReturnType<ReturnType<typeof createLogins>["start"]>;
  readLogin(loginId: string, ownerId: string): LoginState;
  submitLogin(loginId: string, ownerId: string, code: string): Promise<LoginState>;
  /** The key for which secrets are sealed. */
  sealingKey(): Promise<SealingKey>;
  /** Links a sealed secret in place of an earlier account. Throws refusals. */
  link(wanted: PayloadOf<"link_identity">, signal: AbortSignal): Promise<{ account: string }>;
  /** Every kind if it is null. Returns false if nothing was linked. */
  unlink(ownerId: string, kind: LinkableKind | null, signal: AbortSignal): Promise<boolean>;
  /** Ends the login attempts. */
  close(): Promise<void>;
  /** Removes every account, and the key for secrets. Nothing may use one any more. */
  removeAll(): void;
}

interface Known {
  stamp: string | undefined;
  account: Account | undefined;
  at: number;
}

const dayMs = 24 * 3600_000;
const accountAgeMs = 10 * 60_000;
const logOutMs = 10_000;
/** Accounts that are read at the same time, and the time for each. A list has 20 seconds. */
const atOnce = 4;
const lookMs = 8_000;

export function createIdentities(options: IdentitiesOptions): Identities {
  const { homes, kinds, sealing, policy, now, log } = options;
  const open = new Map<string, { driver: Driver; ownerId: string; kind: LinkableKind }>();
  const keyOf = (ownerId: string, kind: LinkableKind) => `${ownerId} ${kind}`;
  /** The last known state of each login. It is read again if the file of the login changes, or after a while. */
  const known = new Map<string, Known>();

  let isClosed = false;

  function usable(kind: LinkableKind): AccountKind {
    const found = kinds[kind];
    if (found) return found;
    throw new CommandRefusal("agent_not_ready", `This host has no logins for ${kind}. Update it.`);
  }

  const logins = createLogins({
    program: (kind) => usable(kind).login,
    place: (ownerId, kind) => homes.open(ownerId, kind),
    save({ ownerId, kind }, account) {
      const { lastsDays } = usable(kind);
      const expiresAt =
        lastsDays === null ? null : new Date(now() + lastsDays * dayMs).toISOString();
      homes.save({ ownerId, kind, ...account, expiresAt, access: bySubscription });
      known.delete(keyOf(ownerId, kind));
      return expiresAt;
    },
    // The home may have an account already, or be used by the next attempt.
    discard({ ownerId, kind }) {
      inLine(ownerId, kind, async () => {
        const isWanted = homes.find(ownerId, kind) !== undefined || logins.isOpen(ownerId, kind);
        if (isClosed || isWanted || !homes.exists(ownerId, kind)) return;
        await usable(kind).login.logOut(homes.open(ownerId, kind), AbortSignal.timeout(logOutMs));
      }).catch((error: unknown) => {
        log.warn("a login was not discarded", { ownerId, kind, error: describe(error) });
      });
    },
    onSaved({ ownerId, kind }) {
      const used = open.get(keyOf(ownerId, kind));
      if (!used || !usable(kind).keepsFormerLogin) return;
      options.onLinkedAgain(used.driver).catch((error: unknown) => {
        log.warn("an agent was not restarted", { ownerId, kind, error: describe(error) });
      });
    },
  });

  /** Programs in one home run one after the other: two that renew the login at once would end it. */
  const queue = createLines();
  const inLine = <Result>(ownerId: string, kind: LinkableKind, work: () => Promise<Result>) =>
    queue(keyOf(ownerId, kind), work);

  /** undefined if the account is not logged in. Throws AgentNotReady. */
  async function readAccount(
    { ownerId, kind, account: name, plan }: Link,
    signal: AbortSignal,
  ): Promise<Account | undefined> {
    // The account may have been unlinked since the list was read. Asking for it would make its home again.
    if (!homes.find(ownerId, kind)?.access) return undefined;
    const used = open.get(keyOf(ownerId, kind));
    if (used) {
      const { problems } = await used.driver.readState(signal);
      const isLoggedIn = !problems.some(({ code }) => code === "not_logged_in");
      return isLoggedIn ? { account: name, plan } : undefined;
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
    const { ownerId, kind, account, plan, expiresAt, access } = link;
    const used = await readUtilization(link, signal);
    const shown = {
      ownerId,
      kind,
      ...(access && { way: access.way }),
      expiresAt,
      utilization: used?.percent ?? null,
      utilizationAt: used ? new Date(used.at).toISOString() : null,
    };
    try {
      const soon = AbortSignal.any([signal, AbortSignal.timeout(lookMs)]);
      const found = await abortable(
        soon,
        inLine(ownerId, kind, () => readAccount(link, soon)),
      );
      const authenticated = found !== undefined;
      // The agent does not know the name of a linked secret.
      const named = access?.way === "subscription" ? found : undefined;
      return { ...shown, account, plan, ...named, authenticated, problem: null };
    } catch (error) {
      log.warn("an account could not be read", { ownerId, kind, error: describe(error) });
      // As it was when it was last known.
      const before = known.get(keyOf(ownerId, kind));
      const authenticated = !before || before.account !== undefined;
      const problem = `The login could not be checked. ${describe(error)}`;
      return { ...shown, account, plan, authenticated, problem };
    }
  }

  async function readUtilization({ ownerId, kind }: Link, signal: AbortSignal) {
    const driver = open.get(keyOf(ownerId, kind))?.driver;
    if (driver) return driver.readUtilization?.(signal);
    const { quotaFile: file, home } = homes.open(ownerId, kind);
    return openQuota({ file, login: join(home, usable(kind).credentialsFile) }).read();
  }

  /** Each step is tried even if an earlier one failed. Throws the first error. */
  async function unlinkOne(
    ownerId: string,
    kind: LinkableKind,
    signal: AbortSignal,
  ): Promise<boolean> {
    const key = keyOf(ownerId, kind);
    const isThere = homes.exists(ownerId, kind);
    const isLinked = homes.find(ownerId, kind) !== undefined;
    const errors: unknown[] = [];
    const step = async (work: () => unknown) => {
      try {
        await work();
      } catch (error) {
        errors.push(error);
      }
    };
    await logins.cancelOf(ownerId, kind, "The account was unlinked.");
    // First, so that nothing starts with the account any more.
    await step(() => homes.unlink(ownerId, kind));
    await step(() => options.onUnlink(ownerId, kind, open.get(key)?.driver));
    if (isThere) {
      const soon = AbortSignal.any([signal, AbortSignal.timeout(logOutMs)]);
      await step(() => kinds[kind]?.login.logOut(homes.open(ownerId, kind), soon));
    }
    await step(() => homes.remove(ownerId, kind));
    open.delete(key);
    known.delete(key);
    if (errors.length > 0) throw errors[0];
    if (isLinked) log.info("an account was unlinked", { ownerId, kind });
    return isLinked;
  }

  function requireAllowed(kind: LinkableKind): void {
    const found = whyForbidden(requireReadable(policy()), kind, { usesOwnLogin: false });
    if (found !== undefined) throw new CommandRefusal("login_forbidden", found);
  }

  /**
   * Ends the use of an earlier account whose place another one takes. From here on no agent can use its settings,
   * such as the address of a gateway, with the next secret, also not after a crash.
   */
  async function release(former: Link, signal: AbortSignal): Promise<void> {
    const { ownerId, kind } = former;
    homes.save({ ...former, access: null });
    known.delete(keyOf(ownerId, kind));
    const used = open.get(keyOf(ownerId, kind));
    if (used) await options.onLinkedAgain(used.driver);
    const soon = AbortSignal.any([signal, AbortSignal.timeout(logOutMs)]);
    const { login, credentialsFile } = usable(kind);
    const place = homes.open(ownerId, kind);
    await login.logOut(place, soon);
    // The program keeps it if it could not log out.
    rmSync(join(place.home, credentialsFile), { force: true });
  }

  async function linkOne(
    { ownerId, kind, sealedSecret: _sealed, ...access }: PayloadOf<"link_identity">,
    secret: string,
    signal: AbortSignal,
  ): Promise<{ account: string }> {
    await logins.cancelOf(ownerId, kind, "Another account was linked instead.");
    const account = nameOf(access, secret);
    const link: Link = { ownerId, kind, account, plan: null, expiresAt: null, access };
    const former = homes.find(ownerId, kind);
    if (former) await release(former, signal);
    try {
      await usable(kind).login.link(homes.open(ownerId, kind), { ...access, secret }, signal);
      homes.save(link);
    } catch (error) {
      if (!former) homes.remove(ownerId, kind);
      throw error;
    }
    log.info("an account was linked", { ownerId, kind, way: access.way });
    return { account };
  }

  return {
    driver(kind, ownerId) {
      const linkable = LinkableKind.safeParse(kind).data;
      if (!linkable || !kinds[linkable] || !homes.find(ownerId, linkable)) return undefined;
      const key = keyOf(ownerId, linkable);
      const used = open.get(key);
      if (used) return used.driver;
      const driver = usable(linkable).open(homes.open(ownerId, linkable), () => {
        const access = homes.find(ownerId, linkable)?.access;
        if (access) return access;
        throw new AgentNotReady(
          `Your account of ${linkable} is being replaced. If this lasts, link it again.`,
        );
      });
      open.set(key, { driver, ownerId, kind: linkable });
      return driver;
    },
    drivers: () => [...open.values()].map(({ driver }) => driver),
    linkedKinds: () => [...new Set(homes.list().map(({ kind }) => kind))],
    liveStarts: () => Object.values(kinds).flatMap(({ login }) => login.liveStarts()),
    async list(signal) {
      const links = homes.list();
      const shown: HostIdentity[] = [];
      // A few at a time: each may start a program.
      while (shown.length < links.length) {
        const next = links.slice(shown.length, shown.length + atOnce);
        shown.push(...(await Promise.all(next.map((link) => describeLink(link, signal)))));
      }
      return shown;
    },
    async startLogin(wanted, signal) {
      const { ownerId, kind } = wanted;
      requireAllowed(kind);
      return refusing(
        inLine(ownerId, kind, async () => {
          const former = homes.find(ownerId, kind);
          // A login stays until the next one is done. A linked secret would be in its way.
          if (former && former.access?.way !== "subscription") await release(former, signal);
          return logins.start(wanted, signal);
        }),
      );
    },
    sealingKey: () => sealing.publicKey(),
    async link(wanted, signal) {
      const { ownerId, kind, baseUrl } = wanted;
      requireAllowed(kind);
      const objection = baseUrl === null ? null : objectToGateway(baseUrl);
      if (objection !== null) throw new CommandRefusal("login_failed", `baseUrl ${objection}.`);
      const secret = await sealing.open(wanted);
      return refusing(inLine(ownerId, kind, () => linkOne(wanted, secret, signal)));
    },
    readLogin: logins.read,
    submitLogin: (loginId, ownerId, code) => logins.submit(loginId, ownerId, code),
    async unlink(ownerId, kind, signal) {
      let wasLinked = false;
      for (const each of kind === null ? LinkableKind.options : [kind]) {
        const isLinked = await inLine(ownerId, each, () => unlinkOne(ownerId, each, signal));
        wasLinked ||= isLinked;
      }
      return wasLinked;
    },
    close() {
      isClosed = true;
      return logins.close();
    },
    removeAll() {
      homes.removeAll();
      sealing.remove();
    },
  };
}
