// The account of one person in an agent, in a home of its own: a login or a linked secret. The agent's own
// program logs in: its credentials are written by it into that home, and the daemon never reads them.
import type { IdentityWay, LoginFlow } from "@hawser/contract";

/** A kind's program as far as logins are concerned. */
export interface LoginProgram {
  /**
   * Begins a login. An earlier login in the same home stays valid until this one is done. Throws
   * AgentNotReady, or LoginFailed if the account's maker refuses it.
   */
  begin(place: LoginPlace, email: string | null, signal: AbortSignal): Promise<LoginAttempt>;
  /**
   * Stores a secret in a home without a login. Throws AgentNotReady, or LoginFailed if the agent does not accept
   * it. No error contains the secret.
   */
  link(place: LoginPlace, linked: LinkedSecret, signal: AbortSignal): Promise<void>;
  /** The account that the home is logged in to; undefined if it is logged in to none. Throws AgentNotReady. */
  readAccount(place: LoginPlace, signal: AbortSignal): Promise<Account | undefined>;
  /**
   * Logs out, so that the account's maker accepts the credentials no longer, and removes a linked secret. Never
   * throws: it is tried once, and the home is removed or used for another account afterwards.
   */
  logOut(place: LoginPlace, signal: AbortSignal): Promise<void>;
  /** Start ids (HAWSER_AGENT) of its running processes. */
  liveStarts(): string[];
}

export interface LoginPlace {
  /** The agent's configuration directory, of this person alone. It exists, with mode 0700. */
  home: string;
  /** For temporary files. It exists. */
  temporary: string;
}

/** How an agent uses an account. The fields that a way does not have are null. */
export interface Access {
  way: IdentityWay;
  /** The address of a gateway. */
  baseUrl: string | null;
  /** The region of a cloud, and its project. */
  region: string | null;
  projectId: string | null;
}

export interface LinkedSecret extends Access {
  secret: string;
}

export interface LoginAttempt {
  flow: LoginFlow;
  /** For the person's browser. */
  authorizationUrl: string;
  /** Typed by the person into the page; null in the flow `paste_code`. */
  userCode: string | null;
  /** Resolves when the login is complete and confirmed. Rejects with LoginFailed, also after `cancel`. */
  done: Promise<Account>;
  /** Passes the code that the browser shows. Undefined in the flow `device_code`. */
  submit?(code: string): void;
  /** Ends the attempt and its process. Does nothing if it is over. */
  cancel(): Promise<void>;
  /** Start id (HAWSER_AGENT) of its process. */
  startId: string;
}

export interface Account {
  /** The account's name, such as an e-mail address; null if the agent does not report it. */
  account: string | null;
  /** The subscription; null if the agent does not report it. */
  plan: string | null;
}

/** The login did not succeed. The message is a sentence that the person can act upon. */
export class LoginFailed extends Error {}
