// A script that a prompt carries behind `@@`: what the model is to answer, one step for each time it is
// asked. The scripted model endpoint and the scripted driver play the same language, so that a test
// reads the same whichever agent it runs on:
//
//   fix it @@[{"calls":[{"tool":"bash","input":{"command":"ls"}}]},{"text":"Done."}]

/** One answer of the model. */
export interface Step {
  /** Thought before it answers. */
  reasoning?: string;
  text?: string;
  /** Tools it asks for; without any, the turn ends with this step. */
  calls?: Call[];
  /** Before the first word. */
  delayMs?: number;
  /** Between two words of the text and of the thought; 0 unless given. */
  paceMs?: number;
  usage?: { input?: number; output?: number; cached?: number; reasoning?: number };
  /** An HTTP error instead of an answer, this many times; for ever unless `times` is given. */
  status?: number;
  times?: number;
  retryAfterSeconds?: number;
  /** The connection is cut after the text. */
  cut?: boolean;
}

export interface Call {
  tool: string;
  input: Record<string, unknown>;
}

/** The steps a prompt carries; nothing when it carries none. Throws when what follows `@@` is no script. */
export function readScript(prompt: string): Step[] | undefined {
  const start = prompt.indexOf("@@[");
  if (start === -1) return undefined;
  const end = prompt.lastIndexOf("]");
  return JSON.parse(prompt.slice(start + 2, end + 1)) as Step[];
}
