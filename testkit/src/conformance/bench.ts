// What the suite needs of each kind: how to open and kill its agent, and which tool calls of a script make
// it ask, plan or start a sub-agent.
import type { AgentPolicy, ModelChoice } from "@hawser/contract";
import type { Call as PolicyCall, Decision } from "@hawser/daemon/policy/call.ts";
import { decide, type Rules } from "@hawser/daemon/policy/decide.ts";
import type { Driver, Prompt, SessionSettings } from "@hawser/daemon/drivers/driver.ts";
import type { Call, Step } from "@hawser/daemon/drivers/scripted/script.ts";

export interface Bench extends AsyncDisposable {
  /** The driver that is open now. */
  driver(): Driver;
  /** A git repository where most cases work: the first turn in a directory takes some agents seconds. */
  directory: string;
  /** Makes another repository. */
  makeDirectory(): string;
  /** A model beside the default one. */
  otherModel: ModelChoice;
  variant: string;
  /** A call that asks for permission to run this command. */
  asking(command: string): Call;
  /** What the request about that command shows. */
  shown(command: string): { detail: string; alwaysRules: string[] };
  question(question: string, labels: string[]): Call;
  /** A call that runs this command without asking: the policy allows `echo *`. */
  command(command: string): Call;
  plan(content: string): Call;
  subAgent(steps: Step[]): Call;
  /** A slash command that expands to "Greet them: " and its arguments; undefined without commands. */
  slashCommand?: string;
  /** The model's last input, as text; undefined if no ability of the driver shows in it. */
  received?(): string;
  /** Kills the agent's process, like the system when memory runs out. */
  killAgent(): Promise<void>;
  /** Closes the driver and opens it again, like the next daemon. */
  reopen(): Promise<void>;
  /** Whether the agent's process runs, with or without a driver. */
  isAgentAlive(): boolean;
  /** Where the kind behaves differently from opencode, for which the suite was first written. */
  differs?: {
    /** The option that takes `variant` as a value. */
    option?: string;
    /** The default mode, and a sub-agent. */
    modes?: [string, string];
    /** Cost of a turn, for a kind that reports usage once per turn. */
    turnCostUsd?: number;
    /** The kind reports no prices. */
    hasNoPrices?: boolean;
    /** The kind does not report how full the model's context is. */
    hasNoContext?: boolean;
    /** The kind makes no plans. */
    hasNoPlans?: boolean;
    /** The agent does not wait for its sub-agents, and may finish before them. */
    doesNotWait?: boolean;
    /** The model's input for the slash command with the arguments "Ada". */
    greeting?: RegExp;
    /** A tool call that fails, for a kind without the tool `read`. */
    failing?: Call;
  };
}

export const policy: AgentPolicy = { allowedCommands: ["echo *"], outsideWorktree: "ask" };

let made = 0;

/** What a session of the suite is started with; calls are decided about by the policy. */
export type Place = Partial<SessionSettings> & { policy?: AgentPolicy };

export function placeIn(directory: string, more: Place = {}): SessionSettings {
  // Test files that run at the same time must not end each other's processes.
  const sessionId = `session-${process.pid}-${++made}`;
  const common = { sessionId, directory, title: "A session", model: null, options: {}, policy };
  const { policy: decidedBy, ...settings } = { ...common, ...more };
  const rules: Rules = {
    ...decidedBy,
    directory: settings.directory,
    mode: "ask",
    hasSandbox: false,
    unattendedCommands: false,
    secrets: [],
    ownDirectories: [],
    temporaryDirectory: "/none",
  };
  // Sub-agents need no permission here, so that the cases for them are the same for every kind.
  const allowed: Decision = { answer: "allow", rule: "the suite allows sub-agents" };
  const decideCall = (call: PolicyCall) => (call.type === "agent" ? allowed : decide(rules, call));
  return { decide: decideCall, ...settings };
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
