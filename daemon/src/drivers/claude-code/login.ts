// The account of one person in Claude Code: a linked secret (access.ts), or a login. Claude Code's own program logs
// in, with the person's home as its configuration directory: `claude auth login` prints an address for the
// browser and reads the code that the browser shows. The code is written to the program's input alone.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { childEnvironment, type Environment } from "../../environment.ts";
import { signalGroup } from "../../signal-process.ts";
import { abortable } from "../abortable.ts";
import { AgentNotReady, notInstalled } from "../driver.ts";
import { isObject } from "../is-object.ts";
import { LoginFailed, type Account, type LoginPlace, type LoginProgram } from "../login.ts";
import { hasSecret, removeSecret, storeSecret } from "./access.ts";
import { endProcesses } from "./leftovers.ts";
import { untilRefreshed } from "./refresh-lock.ts";
import { quiet } from "./switches.ts";

export interface ClaudeLoginSettings {
  /** The installed program; undefined if there is none. */
  program(): { path: string; version: string } | undefined;
  /** Added to the environment that every child process gets. */
  environment?: Environment;
  newStartId?: () => string;
  /** How long an attempt may take; 15 minutes if not set. */
  attemptMs?: number;
}

const beginDeadlineMs = 20_000;
const attemptMs = 15 * 60_000;
/** From the code to the end of the process. It waits 30 seconds for the tokens by itself. */
const exchangeDeadlineMs = 90_000;
const statusDeadlineMs = 20_000;
const logOutDeadlineMs = 10_000;
const outputLimit = 100_000;

const switches: Environment = {
  ...quiet,
  // The browser is the person's, not one of the host.
  BROWSER: "/bin/true",
};

/** Claude Code would use these instead of the login in its home. */
const otherCredentials = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

const again = "Start the login again";
const notReached = `The host did not reach Anthropic's login service. Check its network and proxy. ${again}.`;
const notConfirmed = `Claude Code completed the login but is not logged in. ${again}.`;

/** What the program prints if the login fails. Its text is never shown. */
const failures: [printed: RegExp, message: string][] = [
  [
    /status code 4(?!08|29)/,
    `Anthropic did not accept the code. It was mistyped, used before, or too old. ${again} and paste the new code.`,
  ],
  [/status code/, `Anthropic's login service failed. Wait a few minutes. ${again}.`],
  [
    /certificate/i,
    `The host does not trust the certificate of Anthropic's login service. If a proxy replaces it, set NODE_EXTRA_CA_CERTS for the daemon. ${again}.`,
  ],
  [
    /timeout|socket|network|ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOST|ENET|EPIPE|EPROTO/i,
    notReached,
  ],
];

export function createClaudeLogin(settings: ClaudeLoginSettings): LoginProgram {
  const { newStartId = randomUUID } = settings;
  const live = new Set<string>();

  /** Starts `claude auth …`. Throws AgentNotReady if Claude Code is not installed. */
  function start(place: LoginPlace, args: string[], startId = newStartId()): Command {
    const program = settings.program();
    if (!program) throw new AgentNotReady(notInstalled("Claude Code"));
    const environment = childEnvironment({
      ...switches,
      ...settings.environment,
      CLAUDE_CONFIG_DIR: place.home,
      TMPDIR: place.temporary,
      HAWSER_AGENT: startId,
    });
    for (const name of otherCredentials) delete environment[name];
    const command = startCommand(program.path, ["auth", ...args], place.home, environment);
    live.add(startId);
    void command.exit.then(() => live.delete(startId));
    return command;
  }

  async function readAccount(
    place: LoginPlace,
    signal: AbortSignal,
    startId?: string,
  ): Promise<Account | undefined> {
    signal.throwIfAborted();
    const command = start(place, ["status"], startId);
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(statusDeadlineMs)]);
    try {
      const code = await abortable(deadline, command.exit);
      return accountOf(code, command.output());
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof AgentNotReady) throw cause;
      throw new AgentNotReady("Claude Code did not report its login in time.", { cause });
    } finally {
      await command.end();
    }
  }

  return {
    async begin(place, email, signal) {
      signal.throwIfAborted();
      const startId = newStartId();
      const hint = email === null ? [] : [`--email=${email}`];
      const command = start(place, ["login", ...hint], startId);
      let address: { url: string; state: string };
      try {
        address = await readAddress(command, signal);
      } catch (error) {
        await command.end();
        throw error;
      }

      let failure: LoginFailed | undefined;
      let hasCode = false;
      const fail = (message: string) => {
        failure ??= new LoginFailed(message);
        return command.end();
      };
      const failAfter = (ms: number, message: string) => setTimeout(() => void fail(message), ms);
      const tooLate = `The login was not completed in time. ${again}.`;
      let timer = failAfter(settings.attemptMs ?? attemptMs, tooLate);

      const complete = async () => {
        const code = await command.exit;
        clearTimeout(timer);
        if (failure) {
          await command.end();
          throw failure;
        }
        if (code !== 0) throw new LoginFailed(messageOf(command.errors()));
        // The program also reports success if it got no token that it can keep.
        const account = await readAccount(place, new AbortController().signal, startId).catch(
          (cause: unknown) => {
            const message = `Claude Code did not confirm the login. ${again}.`;
            throw new LoginFailed(message, { cause });
          },
        );
        if (!account) throw new LoginFailed(notConfirmed);
        return account;
      };
      const done = complete();
      // The caller may wait for it later.
      const settled = done.catch(() => {});

      return {
        flow: "paste_code",
        authorizationUrl: address.url,
        userCode: null,
        startId,
        done,
        submit(text) {
          if (hasCode || failure) return;
          const code = text.trim();
          const [secret, state, ...others] = code.split("#");
          if (!secret || !state || others.length > 0 || /\s/.test(code)) {
            const problem = "The code is not complete. Copy all of it, with the part after the #.";
            void fail(`${problem} ${again}.`);
          } else if (state !== address.state) {
            // The program does not check it.
            const problem = "The code belongs to another login.";
            void fail(`${problem} ${again} and use the page that it opens.`);
          } else {
            hasCode = true;
            clearTimeout(timer);
            timer = failAfter(exchangeDeadlineMs, notReached);
            // At its start the program refreshes an earlier login. If the code is wrong, it ends at once.
            void untilRefreshed(place.home).then(() => failure ?? command.write(`${code}\n`));
          }
        },
        async cancel() {
          if (!command.hasExited()) await fail(`The login was cancelled. ${again} if you need it.`);
          await settled;
        },
      };
    },

    link: async ({ home }, { secret }) => storeSecret(home, secret),

    // Claude Code does not check a linked secret before it is used.
    readAccount: async (place, signal) =>
      hasSecret(place.home) ? { account: null, plan: null } : readAccount(place, signal),

    async logOut(place, signal) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(logOutDeadlineMs)]);
      let command: Command | undefined;
      try {
        if (hasSecret(place.home)) return removeSecret(place.home);
        command = start(place, ["logout"]);
        await abortable(deadline, command.exit);
      } catch {
        // The home is removed even if the credentials are still accepted.
      } finally {
        await command?.end();
      }
    },

    liveStarts: () => [...live],
  };
}

/** One run of the program, in a process group of its own. */
interface Command {
  output(): string;
  errors(): string;
  write(text: string): void;
  /** Resolves to its exit code; null if it was ended or did not start. */
  exit: Promise<number | null>;
  hasExited(): boolean;
  /** Calls back after each part of its output. */
  onOutput(listener: () => void): void;
  /** Ends it and its child processes, but not while it refreshes the login. */
  end(): Promise<void>;
}

function startCommand(
  program: string,
  args: string[],
  home: string,
  environment: Environment,
): Command {
  const child = spawn(program, args, {
    // Contains no configuration of a repository.
    cwd: "/",
    env: environment,
    stdio: "pipe",
    detached: true,
  });
  const printed = { output: "", errors: "" };
  const keep = (name: keyof typeof printed) => (part: string) => {
    printed[name] = (printed[name] + part).slice(-outputLimit);
  };
  child.stdout.setEncoding("utf8").on("data", keep("output"));
  child.stderr.setEncoding("utf8").on("data", keep("errors"));
  // The end of the process is handled elsewhere, so a failed write is ignored.
  child.stdin.on("error", () => {});
  const { promise: exit, resolve } = Promise.withResolvers<number | null>();
  let hasExited = false;
  const exitWith = (code: number | null) => {
    hasExited = true;
    resolve(code);
  };
  child.once("close", exitWith);
  child.once("error", () => exitWith(null));
  let ending: Promise<void> | undefined;
  const end = async () => {
    await untilRefreshed(home);
    if (!hasExited) signalGroup(child.pid, "SIGKILL");
    await endProcesses(({ startId }) => startId === environment["HAWSER_AGENT"]);
    exitWith(null);
  };
  return {
    output: () => printed.output,
    errors: () => printed.errors,
    write: (text) => void child.stdin.write(text),
    exit,
    hasExited: () => hasExited,
    onOutput: (listener) => void child.stdout.on("data", listener),
    end: () => (ending ??= hasExited ? Promise.resolve() : end()),
  };
}

/** Resolves when the program has printed the address. Throws AgentNotReady. */
async function readAddress(
  command: Command,
  signal: AbortSignal,
): Promise<{ url: string; state: string }> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(beginDeadlineMs)]);
  const printed = new Promise<void>((resolve) => {
    command.onOutput(() => {
      if (addressIn(command.output())) resolve();
    });
  });
  await abortable(deadline, Promise.race([printed, command.exit])).catch(() => {});
  signal.throwIfAborted();
  const url = addressIn(command.output());
  const state = url && new URL(url).searchParams.get("state");
  if (url && state) return { url, state };
  const problem = command.hasExited() ? "It ended without an address" : "It printed no address";
  throw new AgentNotReady(`Claude Code did not begin its login. ${problem} for the browser.`);
}

const addressIn = (output: string) => /(https:\/\/\S+)\s/.exec(output)?.[1];

/** Throws AgentNotReady if the program did not report a login's state. */
function accountOf(code: number | null, output: string): Account | undefined {
  let status: unknown;
  try {
    status = JSON.parse(output);
  } catch {
    status = undefined;
  }
  if (!isObject(status) || typeof status["loggedIn"] !== "boolean") {
    throw new AgentNotReady("Claude Code did not report whether it is logged in.");
  }
  // Any other method uses credentials of the host, not those in the person's home.
  const isLoggedIn = code === 0 && status["loggedIn"] && status["authMethod"] === "claude.ai";
  if (!isLoggedIn) return undefined;
  return { account: textOf(status["email"]), plan: textOf(status["subscriptionType"]) };
}

const textOf = (value: unknown) => (typeof value === "string" ? value : null);

function messageOf(errors: string): string {
  const [, message] = failures.find(([printed]) => printed.test(errors)) ?? [];
  return message ?? `Claude Code ended before the login was complete. ${again}.`;
}
