// The history of a run of sessions: the callers' calls and answers, the entries that every viewer received,
// the hosts' journals, the requests to the model, and the state at the end. Only data.
import type { Answer } from "../command-records.ts";
import type { Entry } from "../history.ts";

/** A prompt as its caller saw it. Only this prompt's text contains its name. */
export interface SentPrompt {
  name: string;
  sessionId: string;
  answers: Answer[];
}

/** Everything that a viewer received of a session, in order, over all its connections. */
export interface ViewerLog {
  viewer: string;
  sessionId: string;
  seen: SeenEntry[];
}

export interface SeenEntry extends Entry {
  /** By the viewer's clock. */
  seenAt: number;
}

export interface JournalLog {
  sessionId: string;
  entries: Entry[];
}

/** A session at the end of the run, after its agent was killed for the last time. */
export interface FinalSession {
  sessionId: string;
  status: string;
  /** The host's state of the session: idle, running, stopped …; null if the host reports none. */
  live: string | null;
  isAgentAlive: boolean;
}

export interface LeftProcess {
  pid: number;
  command: string;
  afterMs: number;
}

export interface SessionsHistory {
  prompts: SentPrompt[];
  /** How many requests to the model began each prompt, by name. */
  starts: Map<string, number>;
  viewers: ViewerLog[];
  journals: JournalLog[];
  sessions: FinalSession[];
  processes: LeftProcess[];
  /** Turns whose last notice was dropped. */
  unnoticed: { sessionId: string; turnId: string }[];
  /** Other violations, such as activity that did not end after the last fault. */
  broken: string[];
}

/** The turn in an answer that accepts a prompt. */
export function acceptedTurn({ status, body }: Answer): string | undefined {
  if (status !== 200) return undefined;
  return (JSON.parse(body) as { result: { turnId: string } }).result.turnId;
}

/** How a prompt ended for its caller. */
export function endOfPrompt({ answers }: SentPrompt): "accepted" | "refused" | "unknown" {
  const last = answers.find(({ final }) => final);
  if (!last) return "unknown";
  return last.status === 200 ? "accepted" : "refused";
}
