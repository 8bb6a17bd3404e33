// The decisions about the tool calls of one session. Claude Code calls the hook before every call, of
// sub-agents too, and asks afterwards if the hook answered `ask`, or if a safety check of its own wants a
// person. Each call is decided once, in the hook.
import { denialText, type Call, type Decision } from "../../policy/call.ts";
import { prefixFor } from "../../policy/path-location.ts";
import { NotOffered, type SessionSettings } from "../driver.ts";
import { callOf, filesFor, type CallContext } from "./calls.ts";
import type { EventReporter } from "./events.ts";
import type { Requests } from "./requests.ts";
import type { AskPermission, HookInput, HookOutput } from "./sdk.ts";

export interface Decisions {
  /** Answers the hook before a call. Never rejects, because Claude Code would then decide by itself. */
  onHook: (hook: HookInput) => Promise<HookOutput>;
  /** Answers Claude Code's question whether a call may run. */
  onAsk: AskPermission;
  /**
   * Throws NotOffered if a slash command's arguments name a file that the agent may not read without asking:
   * the command's text can make Claude Code read it at once, without the hook.
   */
  checkArguments(name: string, args: string): void;
  /** Drops the decisions of a turn that has ended. */
  forget(): void;
}

interface Options {
  settings: SessionSettings;
  context: () => CallContext;
  requests: Requests;
  events: Pick<EventReporter, "whenReported">;
}

export function createDecisions({ settings, context, requests, events }: Options): Decisions {
  const decided = new Map<string, { call: Call; decision: Decision; hook: HookInput }>();

  function decideOnce(hook: HookInput): Decision {
    const known = decided.get(hook.tool_use_id);
    const call = callOf(hook, context());
    if (known && isSame(known.call, call)) return known.decision;
    const decision = settings.decide(call);
    decided.set(hook.tool_use_id, { call, decision, hook });
    return decision;
  }

  return {
    async onHook(hook) {
      try {
        // The log shows a decision or a request after the call that it is about.
        await events.whenReported(hook.tool_use_id);
        return answerOf(decideOnce(hook));
      } catch {
        return answerOf({ answer: "deny", rule: "the call could not be checked" });
      }
    },

    async onAsk(tool, input, about) {
      const callId = about.toolUseID;
      await events.whenReported(callId);
      const known = decided.get(callId);
      const call =
        known && callOf({ ...known.hook, tool_name: tool, tool_input: input }, context());
      // The hook saw no such call, or another input, so nothing is known about it.
      const decision =
        known && isSame(known.call, call)
          ? known.decision
          : settings.decide({ callId, type: "other", tool });
      if (decision.answer === "allow") return { behavior: "allow", updatedInput: input };
      if (decision.answer === "deny") return { behavior: "deny", message: denialText(decision) };
      const cwd = call?.type === "execute" ? call.cwd : undefined;
      const place = cwd === undefined ? "" : prefixFor(settings.directory, cwd);
      return requests.ask({ tool, input, place, rule: decision.rule }, about);
    },

    checkArguments(name, args) {
      if (args.trim() === "") return;
      const paths = filesFor(name, args, settings.directory, context().home);
      const { answer, rule } = settings.decide({ callId: null, type: "read", paths });
      if (answer === "allow") return;
      const problem = `The command could read a file that its arguments name: ${rule}.`;
      const hint = "Name no such file, and use no \\ and no $, or send a prompt instead.";
      throw new NotOffered("arguments", `${problem} ${hint}`);
    },

    forget: () => decided.clear(),
  };
}

const isSame = (one: Call, other: Call | undefined) =>
  JSON.stringify(one) === JSON.stringify(other);

export function answerOf(decision: Decision): HookOutput {
  const { answer, rule } = decision;
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: answer,
      permissionDecisionReason: answer === "deny" ? denialText(decision) : rule,
    },
  };
}
