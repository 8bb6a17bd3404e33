// The script in a prompt, after `@@`: the model's answers, one step for each call of the model. The
// scripted model endpoint and the scripted driver play the same scripts, so a test is the same for every
// agent:
//
//   fix it @@[{"calls":[{"tool":"bash","input":{"command":"ls"}}]},{"text":"Done."}]

/** One answer of the model. */
export interface Step {
  /** Thought before the answer. */
  reasoning?: string;
  text?: string;
  /** Tool calls; without any, the turn ends with this step. */
  calls?: Call[];
  /** Wait before the first word. */
  delayMs?: number;
  /** Wait between two words of the text and of the thought; 0 if not set. */
  paceMs?: number;
  usage?: { input?: number; output?: number; cached?: number; reasoning?: number };
  /** Answers with this HTTP error, `times` times; always if `times` is not set. */
  status?: number;
  times?: number;
  retryAfterSeconds?: number;
  /** Type and code in the body of that error, such as insufficient_quota. */
  errorType?: string;
  /** Headers of the model's answer, such as those about quotas. Only the model endpoint sends them. */
  headers?: Record<string, string>;
  /** The connection is cut after the text. */
  cut?: boolean;
}

export interface Call {
  tool: string;
  input: Record<string, unknown>;
}

/** The steps of a prompt; undefined if it has none. Throws if the text after `@@` is not a script. */
export function readScript(prompt: string): Step[] | undefined {
  const start = prompt.indexOf("@@[");
  if (start === -1) return undefined;
  const end = prompt.lastIndexOf("]");
  return JSON.parse(prompt.slice(start + 2, end + 1)) as Step[];
}
