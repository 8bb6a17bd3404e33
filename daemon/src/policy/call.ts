// A call of an agent's tool in one shape for all kinds. Drivers translate what their agent wants to do into
// it, and decide.ts answers.

export type Call = {
  /** The agent's id of the call; null if it has none. */
  callId: string | null;
  /** The agent is planning: what would change something needs a person. */
  isPlanning?: boolean;
} & (
  | {
      type: "execute";
      command: string;
      /** Directory that the command runs in; undefined if unknown. */
      cwd: string | undefined;
      /** Whether the command would run outside the agent's sandbox. */
      leavesSandbox?: boolean;
      /** Files that came with the prompt: the command may name them wherever they are. */
      attachments?: readonly string[];
    }
  /** Changes files. Empty if the files are unknown. */
  | { type: "edit"; paths: readonly string[]; leavesSandbox?: boolean }
  /** Reads or lists files; `attachments` of the prompt may be read wherever they are. */
  | { type: "read"; paths: readonly string[]; attachments?: readonly string[] }
  | { type: "fetch"; target: string }
  | { type: "mcp"; server: string; tool: string }
  /** Starts a sub-agent, whose own calls are decided too. `reads`: files that are part of its prompt. */
  | {
      type: "agent";
      name: string;
      reads?: readonly string[];
      /** The host's user lets this sub-agent do things without asking, so its calls would not be decided. */
      hasOwnPermissions?: boolean;
    }
  /** Has no effect outside the conversation, such as a list of things to do. */
  | { type: "note" }
  | { type: "question" }
  /** A tool that the driver does not know. */
  | { type: "other"; tool: string }
);

/** `ask`: a person decides. */
export interface Decision {
  answer: "allow" | "deny" | "ask";
  /** The rule that decided, for people who read the log. */
  rule: string;
}

/** What an agent reads when a call is denied. It says that the agent can go on. */
export function denialText({ rule }: Decision): string {
  return `Refused without asking anybody: ${rule}. Go on without it, and say at the end what you left out.`;
}
