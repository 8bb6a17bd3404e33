// Login attempts. They are in memory only: the agent's program that waits for the person ends with the daemon,
// and the attempt with it.
import type { LinkableKind, LoginFlow } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { AgentNotReady } from "../drivers/driver.ts";
import {
  LoginFailed,
  type Account,
  type LoginAttempt,
  type LoginPlace,
  type LoginProgram,
} from "../drivers/login.ts";
import { describe } from "../log.ts";
import { within } from "../pause.ts";

export interface WantedLogin {
  loginId: string;
  ownerId: string;
  kind: LinkableKind;
  email: string | null;
}

export interface LoginState {
  status: "pending" | "done" | "error";
  error: string | null;
  account: string | null;
  expiresAt: string | null;
}

interface Running extends Omit<WantedLogin, "email"> {
  attempt: LoginAttempt;
  state: LoginState;
  /** Resolves when it is no longer pending. */
  settled: Promise<void>;
}

export interface LoginsOptions {
  /** Throws a refusal if the kind has no logins here. */
  program: (kind: LinkableKind) => LoginProgram;
  place: (ownerId: string, kind: LinkableKind) => LoginPlace;
  /** Keeps a completed login. Returns when it expires. */
  save: (login: Running, account: Account) => string | null;
  /** Removes what a login that failed, or that is no longer wanted, has written. */
  discard: (login: Running) => void;
  /** Called after a login was kept. */
  onSaved: (login: Running) => void;
}

/** A person has this long to complete a login, as its action says. */
const attemptMs = 15 * 60_000;
/** How long a finished attempt can still be asked about. */
const keptMs = 60 * 60_000;
const submitMs = 20_000;
/** A program that takes longer to end goes on ending by itself. */
const cancelMs = 5_000;

export function createLogins({ program, place, save, discard, onSaved }: LoginsOptions) {
  const running = new Map<string, Running>();

  async function start(
    { loginId, ownerId, kind, email }: WantedLogin,
    signal: AbortSignal,
  ): Promise<{ flow: LoginFlow; authorizationUrl: string; userCode: string | null }> {
    await cancelOf(ownerId, kind, "Another login was started instead.");
    const attempt = await program(kind).begin(place(ownerId, kind), email, signal);
    const state: LoginState = { status: "pending", error: null, account: null, expiresAt: null };
    const login: Running = { loginId, ownerId, kind, attempt, state, settled: Promise.resolve() };
    login.settled = settle(login);
    running.set(loginId, login);
    const { flow, authorizationUrl, userCode } = attempt;
    return { flow, authorizationUrl, userCode };
  }

  async function settle(login: Running): Promise<void> {
    const { attempt, state, loginId } = login;
    const late = setTimeout(() => {
      fail(state, "The login was not completed within 15 minutes. Start a new one.");
      void attempt.cancel();
    }, attemptMs).unref();
    try {
      const account = await attempt.done;
      if (state.status === "pending") {
        const expiresAt = save(login, account);
        Object.assign(state, { status: "done", account: account.account, expiresAt });
        onSaved(login);
      } else {
        discard(login);
      }
    } catch (error) {
      fail(state, describe(error));
      discard(login);
    } finally {
      clearTimeout(late);
      setTimeout(() => running.delete(loginId), keptMs).unref();
    }
  }

  /** The first reason counts: ending the program afterwards is only its consequence. */
  function fail(state: LoginState, error: string): void {
    if (state.status === "pending") Object.assign(state, { status: "error", error });
  }

  /** Somebody else's attempt is answered like one that does not exist. */
  function find(loginId: string, ownerId: string): Running {
    const login = running.get(loginId);
    if (login?.ownerId === ownerId) return login;
    throw new CommandRefusal(
      "not_found",
      "The host no longer has this login attempt: its daemon was restarted. Start a new one.",
    );
  }

  async function cancelOf(ownerId: string, kind: LinkableKind, reason: string): Promise<void> {
    const former = [...running.values()].filter(
      (login) => login.ownerId === ownerId && login.kind === kind,
    );
    for (const { state, attempt } of former) {
      if (state.status !== "pending") continue;
      fail(state, reason);
      await within(cancelMs, attempt.cancel());
    }
  }

  return {
    start,
    read: (loginId: string, ownerId: string): LoginState => ({ ...find(loginId, ownerId).state }),

    /** Waits for the outcome for a while. A login that takes longer stays pending. Throws refusals. */
    async submit(loginId: string, ownerId: string, code: string): Promise<LoginState> {
      const { attempt, state, settled } = find(loginId, ownerId);
      if (!attempt.submit) {
        const message =
          "This login needs no code here: type its userCode into the page. poll_agent_login shows when it is done.";
        throw new CommandRefusal("wrong_login_flow", message);
      }
      if (state.status === "pending") attempt.submit(code);
      await within(submitMs, settled);
      if (state.status === "error") throw new CommandRefusal("login_failed", state.error!);
      return { ...state };
    },

    cancelOf,
    /** Whether an attempt waits for the person. */
    isOpen: (ownerId: string, kind: LinkableKind) =>
      [...running.values()].some(
        (login) =>
          login.ownerId === ownerId && login.kind === kind && login.state.status === "pending",
      ),

    /** Ends the attempts of everybody. */
    async close(): Promise<void> {
      await Promise.all(
        [...running.values()].map(({ state, attempt }) => {
          fail(state, "The host's daemon was stopped. Start a new login.");
          return within(cancelMs, attempt.cancel());
        }),
      );
    },
  };
}

/** Turns errors of a login program into refusals. */
export async function refusing<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AgentNotReady) throw new CommandRefusal("agent_not_ready", error.message);
    if (error instanceof LoginFailed) throw new CommandRefusal("login_failed", error.message);
    throw error;
  }
}
