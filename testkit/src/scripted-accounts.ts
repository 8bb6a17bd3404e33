// People's accounts on a small host, with scripted agents and a scripted login program.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LinkableKind } from "@hawser/contract";
import {
  LoginFailed,
  type Access,
  type Account,
  type LinkedSecret,
  type LoginPlace,
  type LoginProgram,
} from "@hawser/daemon/drivers/login.ts";
import { createScriptedAgent, type ScriptedAgent } from "@hawser/daemon/drivers/scripted/agent.ts";
import { createScriptedDriver } from "@hawser/daemon/drivers/scripted/driver.ts";
import type { AccountKind } from "@hawser/daemon/identities/identities.ts";
import type { OpenHost, OpenOptions, SmallHost } from "./small-host.ts";

/** A login that succeeds with the code `right`, and the agents that use it, by home. */
export function scriptedAccounts() {
  const agents = new Map<string, ScriptedAgent>();
  const revoked: string[] = [];
  /** What was linked, in order. */
  const linked: (LinkedSecret & { home: string })[] = [];
  /** How the agent of each home was told to use its account, by home. */
  const uses = new Map<string, () => Access>();
  const credentials = ({ home }: LoginPlace) => join(home, "login");
  const account: Account = { account: "ada@example.test", plan: "max" };
  const login: LoginProgram = {
    async begin(place, email) {
      const { promise: done, resolve, reject } = Promise.withResolvers<Account>();
      done.catch(() => {});
      return {
        flow: "paste_code",
        authorizationUrl: `https://login.test/?login_hint=${email}`,
        userCode: null,
        startId: "login",
        done,
        submit(code) {
          if (code !== "right") return reject(new LoginFailed("The code is wrong."));
          writeFileSync(credentials(place), "secret");
          resolve(account);
        },
        cancel: async () => reject(new LoginFailed("The login was cancelled.")),
      };
    },
    async link(place, secret) {
      if (secret.secret === "rejected") throw new LoginFailed("The agent rejects it.");
      linked.push({ ...secret, home: place.home });
      writeFileSync(credentials(place), secret.secret, { mode: 0o600 });
    },
    readAccount: async (place) => (existsSync(credentials(place)) ? account : undefined),
    async logOut(place) {
      revoked.push(place.home);
      rmSync(credentials(place), { force: true });
    },
    liveStarts: () => [],
  };
  const kindOf = (kind: LinkableKind): AccountKind => ({
    login,
    credentialsFile: "login",
    lastsDays: 30,
    keepsFormerLogin: false,
    open({ home }, access) {
      uses.set(home, access);
      const agent = agents.get(home) ?? createScriptedAgent();
      agents.set(home, agent);
      return createScriptedDriver(agent, kind);
    },
  });
  return {
    agents,
    revoked,
    linked,
    uses,
    kinds: { claude_code: kindOf("claude_code"), codex: kindOf("codex") },
  };
}

export function openSmall(
  small: SmallHost,
  accounts = scriptedAccounts(),
  more: Pick<OpenOptions, "clonesRepositories"> = {},
) {
  const host = small.open({
    ...more,
    accountKinds: accounts.kinds,
    // The host's own login is of this kind, too.
    wrapDriver: (driver) => ({ ...driver, kind: "claude_code" }),
  });
  return { host, accounts };
}

export function setPolicy(small: SmallHost, ...lines: string[]): void {
  const root = join(small.directory, "root");
  writeFileSync(join(small.directory, "policy"), [`root = ${root}`, ...lines, ""].join("\n"));
}

let attempts = 0;

/** Logs a person in. */
export async function logIn(host: OpenHost, ownerId: string, kind: LinkableKind = "claude_code") {
  const loginId = `log_${++attempts}`;
  await host.must("start_login", { loginId, ownerId, kind, email: null });
  return host.must("submit_login", { loginId, ownerId, code: "right" });
}
