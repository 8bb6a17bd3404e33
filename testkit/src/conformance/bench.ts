// What the suite needs to know of a kind: how it is opened and killed, and which calls of a script make it
// ask, plan or hand work to a sub-agent.
import type { AgentPolicy, ModelChoice } from "@hawser/contract";
import type { Driver, Prompt, SessionSettings } from "@hawser/daemon/drivers/driver.ts";
import type { Call, Step } from "@hawser/daemon/drivers/scripted/script.ts";

export interface Bench extends AsyncDisposable {
  /** The one that is open now. */
  driver(): Driver;
  /** A git repository where most cases work: the first turn in a directory takes some agents seconds. */
  directory: string;
  /** A fresh one. */
  makeDirectory(): string;
  /** A model beside the default one. */
  otherModel: ModelChoice;
  variant: string;
  /** A call that asks for permission to run this command. */
  asking(command: string): Call;
  /** What the request about that command shows. */
  shown(command: string): { detail: string; alwaysRules: string[] };
  question(question: string, labels: string[]): Call;
  /** Runs unasked: the policy allows `echo *`. */
  command(command: string): Call;
  plan(content: string): Call;
  subAgent(steps: Step[]): Call;
  /** A slash command that says "Greet them: " and its arguments; where the driver has commands. */
  slashCommand?: string;
  /** All that the model was given last; where the driver has an ability that shows there. */
  received?(): string;
  /** Ends the agent's process, as the system would for want of memory. */
  killAgent(): Promise<void>;
  /** The daemon is gone, and the next one opens the driver again. */
  reopen(): Promise<void>;
  /** Whether the agent's process is there without any driver. */
  isAgentAlive(): boolean;
  /** Where the kind is of another nature than opencode, after which the suite was written. */
  differs?: {
    /** The option that takes `variant` as a value. */
    option?: string;
    /** Its usual mode, and a sub-agent. */
    modes?: [string, string];
    /** It tells the usage of a whole turn at once, at these prices. */
    turnCostUsd?: number;
    /** It knows no prices. */
    hasNoPrices?: boolean;
    /** It makes no plans. */
    hasNoPlans?: boolean;
    /** Its sub-agents work beside it, so that it may be done before them. */
    doesNotWait?: boolean;
    /** What its model is given of the slash command with the arguments "Ada". */
    greeting?: RegExp;
    /** A call that fails, where it has no tool `read`. */
    failing?: Call;
  };
}

export const policy: AgentPolicy = { allowedCommands: ["echo *"], outsideWorktree: "ask" };

let made = 0;

export function placeIn(directory: string, more: Partial<SessionSettings> = {}): SessionSettings {
  // Two files that run at once are not to end each other's processes.
  const sessionId = `session-${process.pid}-${++made}`;
  return { sessionId, directory, title: "A session", model: null, options: {}, policy, ...more };
}

/** A prompt that makes the model answer with these steps. */
export function promptOf(steps: Step[], more: Partial<Prompt> = {}): Prompt {
  const turnId = `turn-${++made}`;
  return {
    turnId,
    messageId: `message-${made}`,
    task: { type: "prompt" },
    context: [],
    attachments: [],
    text: `Number ${made}, please. @@${JSON.stringify(steps)}`,
    model: null,
    options: {},
    agent: null,
    ...more,
  };
}
