// What a run of sessions left behind: what callers asked and were told, what every viewer saw, what the
// hosts' journals hold, what the model was really asked, and what was there at the end. Only data.
import type { Answer } from "../command-records.ts";
import type { Entry } from "../history.ts";

/** A prompt as its caller saw it. Its name is part of its text, and of no other prompt's. */
export interface SentPrompt {
  name: string;
  sessionId: string;
  answers: Answer[];
}

/** Everything a viewer was shown of a session, in the order it came, over all its connections. */
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
  /** What its host says of it: idle, running, stopped …; null when it says nothing. */
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
  /** How often the model was asked to begin each prompt, by name. */
  starts: Map<string, number>;
  viewers: ViewerLog[];
  journals: JournalLog[];
  sessions: FinalSession[];
  processes: LeftProcess[];
  /** Turns whose last notice was dropped. */
  unnoticed: { sessionId: string; turnId: string }[];
  /** What else was promised and was not kept, such as quiet after healing. */
  broken: string[];
}

/** The turn that an answer says was accepted. */
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
