// The account of one person in codex: a linked key, which codex stores, or a login with ChatGPT by device code. For
// a login the person opens a page and types a code into it, and codex asks for the result. Each login has an
// app-server of its own, because codex forgets an attempt when its process ends. Codex's error texts are never
// passed on: they may quote the service's answer.
import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../environment.ts";
import { abortable } from "../abortable.ts";
import { AgentNotReady, notInstalled } from "../driver.ts";
import {
  LoginFailed,
  type Account,
  type LinkedSecret,
  type LoginAttempt,
  type LoginPlace,
  type LoginProgram,
} from "../login.ts";
import { readLogin } from "./account.ts";
import { startAppServer, type AppServer } from "./app-server.ts";
import { CallLate, CallRefused } from "./connection.ts";
import type { Answers, LoginCompleted } from "./protocol.ts";

export interface CodexLoginSettings {
  /** The installed program; undefined if there is none. */
  program(): { path: string; version: string } | undefined;
  /** Added to the environment that every child process gets. */
  environment?: Environment;
  newStartId?: () => string;
  /** How long a code can be used; fifteen minutes if not set, as codex itself waits. */
  codeMs?: number;
}

const startMs = 20_000;
const cancelMs = 3_000;
const logOutMs = 10_000;
/** Time for a process to start and to answer one call, after a failed login. */
const undoMs = 30_000;

export function createCodexLogin(settings: CodexLoginSettings): LoginProgram {
  const { environment = {}, newStartId = randomUUID, codeMs = 15 * 60_000 } = settings;
  const live = new Set<string>();

  const start = async (
    { home, temporary }: LoginPlace,
    signal: AbortSignal,
    onNotification: (method: string, params: unknown) => void = () => {},
  ): Promise<AppServer> => {
    signal.throwIfAborted();
    const program = settings.program();
    if (!program) throw new AgentNotReady(notInstalled("Codex"));
    const startId = newStartId();
    live.add(startId);
    const starting = startAppServer(
      { program: program.path, home, startId, temporary, environment },
      {
        onNotification,
        onRequest: (id) =>
          void starting.then(
            (server) => server.refuse(id, "This client only logs in."),
            () => {},
          ),
      },
      async () => "This process only logs in.",
    );
    void starting
      .then(
        ({ ended }) => ended,
        () => {},
      )
      .then(() => live.delete(startId));
    try {
      return await abortable(signal, starting);
    } catch (error) {
      void starting.then(
        (server) => server.stop(),
        () => {},
      );
      throw error;
    }
  };

  /** Runs the work with a process that ends afterwards. */
  const use = async <Result>(
    place: LoginPlace,
    signal: AbortSignal,
    work: (server: AppServer) => Promise<Result>,
  ): Promise<Result> => {
    const server = await start(place, signal);
    try {
      signal.throwIfAborted();
      return await abortable(signal, work(server));
    } finally {
      await server.stop();
    }
  };

  /** Codex stores the key like a login. It is written to codex's input alone. */
  const link = async (
    place: LoginPlace,
    { way, region, secret: apiKey }: LinkedSecret,
    signal: AbortSignal,
  ) => {
    const isBedrock = way === "bedrock" && region !== null;
    const login = isBedrock
      ? ({ type: "amazonBedrock", apiKey, region } as const)
      : ({ type: "apiKey", apiKey } as const);
    const account = await use(place, signal, async (server) => {
      await server.call("account/login/start", login, startMs).catch(() => {
        throw new LoginFailed(sentences.notStored);
      });
      return askAccount(server);
    });
    if (!account) throw new LoginFailed(sentences.notStored);
  };

  const readAccount = (place: LoginPlace, signal: AbortSignal) => use(place, signal, askAccount);

  const logOut = async (place: LoginPlace, signal: AbortSignal) => {
    try {
      await use(place, signal, (server) => server.call("account/logout", undefined, logOutMs));
    } catch {
      // The credentials are removed with the home.
    }
  };

  /** Removes credentials that a failed attempt has written. Those of the earlier login stay. */
  const undo = async (place: LoginPlace, earlier: Earlier) => {
    if (stampOf(place) === earlier.stamp) return;
    if (earlier.stamp !== undefined) {
      // The file also changes when another process of this home renews the earlier login. In doubt it stays.
      const now = await readAccount(place, AbortSignal.timeout(undoMs)).catch(() => undefined);
      if (!now || !earlier.account || now.account === earlier.account.account) return;
    }
    await logOut(place, AbortSignal.timeout(undoMs));
  };

  return {
    async begin(place, _email, signal): Promise<LoginAttempt> {
      const over = Promise.withResolvers<LoginCompleted>();
      over.promise.catch(() => {});
      const server = await start(place, signal, (method, params) => {
        // The process has one login only.
        if (method === "account/login/completed") over.resolve(params as LoginCompleted);
      });
      void server.ended.then(() => over.reject(new LoginFailed(sentences.ended)));

      let begun: Begun;
      try {
        signal.throwIfAborted();
        begun = await abortable(signal, beginLogin(place, server));
      } catch (error) {
        await server.stop();
        throw error;
      }
      const { loginId, verificationUrl, userCode, earlier } = begun;

      const late = setTimeout(() => over.reject(new LoginFailed(sentences.expired)), codeMs);
      const finish = async (): Promise<Account> => {
        try {
          const { success, error } = await over.promise;
          if (!success) throw new LoginFailed(explain(error ?? ""));
          const account = await askAccount(server);
          if (!account) throw new LoginFailed(sentences.unconfirmed);
          return account;
        } catch (error) {
          // Otherwise codex may complete the login while its process ends.
          await server.call("account/login/cancel", { loginId }, cancelMs).catch(() => {});
          const sentence = server.hasEnded() ? sentences.ended : sentences.unconfirmed;
          await server.stop();
          await undo(place, earlier);
          throw error instanceof LoginFailed ? error : new LoginFailed(sentence);
        } finally {
          clearTimeout(late);
          await server.stop();
        }
      };
      const done = finish();
      done.catch(() => {});
      return {
        flow: "device_code",
        authorizationUrl: verificationUrl,
        userCode,
        done,
        async cancel() {
          over.reject(new LoginFailed(sentences.cancelled));
          await done.catch(() => {});
        },
        startId: server.startId,
      };
    },
    link,
    readAccount,
    logOut,
    liveStarts: () => [...live],
  };
}

/** The login before an attempt. */
interface Earlier {
  stamp: string | undefined;
  account: Account | undefined;
}

type Begun = Answers["account/login/start"] & { earlier: Earlier };

async function beginLogin(place: LoginPlace, server: AppServer): Promise<Begun> {
  const stamp = stampOf(place);
  // Codex refuses if the earlier login is broken.
  const account = stamp === undefined ? undefined : await askAccount(server).catch(() => undefined);
  try {
    const flow = { type: "chatgptDeviceCode" } as const;
    const started = await server.call("account/login/start", flow, startMs);
    return { ...started, earlier: { stamp, account } };
  } catch (error) {
    if (error instanceof CallRefused) throw new LoginFailed(explain(error.message));
    throw new LoginFailed(error instanceof CallLate ? sentences.unreachable : sentences.ended);
  }
}

/** Differs after codex has written its credentials; undefined if there are none. */
function stampOf({ home }: LoginPlace): string | undefined {
  const file = statSync(join(home, "auth.json"), { bigint: true, throwIfNoEntry: false });
  return file && `${file.ino} ${file.mtimeNs} ${file.size}`;
}

/** Codex asks the account's service, so it also throws AgentNotReady if the service cannot be reached. */
async function askAccount(server: AppServer): Promise<Account | undefined> {
  const { account } = await readLogin(server).catch(() => {
    const message =
      "Codex could not read its account. Check that the host reaches the account's service.";
    throw new AgentNotReady(message);
  });
  if (!account || account.usesCodexManagedCredentials === false) return undefined;
  const { email = null, planType = "unknown" } = account;
  return { account: email, plan: planType === "unknown" ? null : planType };
}

const sentences = {
  refused: "The account's service refused the login. Start it again, and approve it on its page.",
  expired: "The code was not approved within 15 minutes. Start the login again.",
  noDeviceCode:
    "The account's service does not offer a login by device code. Allow it in the settings of the account, then start the login again.",
  unreachable:
    "Codex could not reach the account's service. Check the host's network, then start the login again.",
  unconfirmed:
    "The account's service did not confirm the login. Check the host's network and the account, then start the login again.",
  ended: "Codex ended during the login. Start the login again.",
  cancelled: "The login was cancelled.",
  notStored: "Codex did not accept the secret. Unlink the account, then link it again.",
};

function explain(error: string): string {
  const found = causes.find(([pattern]) => pattern.test(error));
  return found ? sentences[found[1]] : sentences.unconfirmed;
}

/** Codex's texts, version 0.166.0. */
const causes: [RegExp, keyof typeof sentences][] = [
  [/not enabled/i, "noDeviceCode"],
  [/timed out after/i, "expired"],
  [/error sending request|status 5\d\d/i, "unreachable"],
  [/failed with status/i, "refused"],
];
