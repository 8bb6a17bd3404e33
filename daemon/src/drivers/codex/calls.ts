// The tool calls of a thread and its sub-agents, as the gate reports them before they run: decides about
// each, asks a person if needed, and remembers what was allowed for the requests of codex that follow.
import { denialText, type Call, type Decision } from "../../policy/call.ts";
import { within } from "../../pause.ts";
import type { HookInput } from "./gate.ts";
import { readHookCall, type AllowedCall, type Place } from "./hook-calls.ts";
import type { OpenItems } from "./open-items.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { HookRun, ToolApproval } from "./protocol.ts";

export interface Calls {
  /** Returns undefined if the call may run, or what the agent reads instead of its result. */
  decide(input: HookInput, gone: AbortSignal): Promise<string | undefined>;
  /** Codex has announced the hook, and everything that came before the call. */
  onHookStarted(run: HookRun): void;
  allowed(itemId: string): AllowedCall | undefined;
  /** Whether codex asks about a call of an MCP tool that was allowed. Each allowed call counts once. */
  takeTool(approval: ToolApproval): boolean;
}

interface Context {
  directory: string;
  decide: (call: Call) => Decision;
  items: OpenItems;
  requests: Pick<OpenRequests, "ask">;
  /** Tool call that started the sub-agent of a thread; null for the session's own thread. */
  parentOf: (threadId: string) => string | null;
  place: () => Omit<Place, "directory">;
  /** Whether calls may run: a turn is running and is not being stopped. */
  isOpen: () => boolean;
}

const rejected = "A person rejected this call. Go on without it, or ask what to do instead.";
const stopped = "The turn was stopped.";
const announceMs = 2_000;
/** More calls than a turn has open at once. */
const maxKept = 1_000;

export function createCalls(context: Context): Calls {
  const { directory, items, requests, parentOf, isOpen } = context;
  const allowed = new Map<string, AllowedCall>();
  const usedTools = new Set<string>();
  const announced = new Map<string, PromiseWithResolvers<void>>();

  const announcement = (callId: string) => {
    const found = announced.get(callId) ?? Promise.withResolvers<void>();
    announced.set(callId, found);
    return found;
  };

  const allow = (callId: string, entry: AllowedCall) => {
    allowed.set(callId, entry);
    for (const oldest of allowed.keys()) {
      if (allowed.size <= maxKept) break;
      allowed.delete(oldest);
      usedTools.delete(oldest);
    }
    return undefined;
  };

  return {
    async decide(input, gone) {
      const { tool_use_id: callId, session_id, agent_id } = input;
      // The hook is faster than codex's output at times. Waiting keeps the log in order.
      await within(announceMs, announcement(callId).promise);
      announced.delete(callId);
      if (!isOpen() || gone.aborted) return stopped;
      const { call, item, asked } = readHookCall(input, { directory, ...context.place() });
      const decision = context.decide(call);
      const { answer, rule } = decision;
      // Codex asks a question with a request of its own, once the hook has let it.
      if (answer === "allow" || (answer === "ask" && !asked))
        return allow(callId, { call, decision, byPerson: false });
      const threadId = agent_id ?? session_id;
      items.started(item, threadId, parentOf(threadId));
      if (answer === "deny") {
        items.refuse(callId, denialText(decision));
        return denialText(decision);
      }
      const reply = await requests.ask(
        { asked: { permission: asked! }, itemId: callId, rule },
        gone,
      );
      if (reply === undefined) return stopped;
      if ("permission" in reply && reply.permission === "once")
        return allow(callId, { call, decision, byPerson: true });
      items.refuse(callId, "This was rejected.");
      return rejected;
    },

    onHookStarted({ id, sourcePath }) {
      const callId = id.slice(id.indexOf(sourcePath) + sourcePath.length + 1);
      announcement(callId).resolve();
    },

    allowed: (itemId) => allowed.get(itemId),

    takeTool({ serverName, message, _meta: meta }) {
      const found = [...allowed].find(
        ([callId, { call }]) =>
          call.type === "mcp" &&
          isTool(call, serverName, message) &&
          !usedTools.has(callId) &&
          meta?.codex_approval_kind === "mcp_tool_call",
      );
      if (found) usedTools.add(found[0]);
      return found !== undefined;
    },
  };
}

/** Whether codex's question is about the tool. The hook has names in which other characters became `_`. */
function isTool(call: { server: string; tool: string }, serverName: string, message: string) {
  const plain = (text: string) => text.replaceAll(/[^A-Za-z0-9_"]/g, "_");
  const prefix = plain(`mcp__${serverName}__`);
  const name = plain(`mcp__${call.server}__${call.tool}`);
  return name.startsWith(prefix) && plain(message).includes(`"${name.slice(prefix.length)}"`);
}
