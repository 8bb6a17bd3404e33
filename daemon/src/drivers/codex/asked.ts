// Translates a request of codex: the call that is decided about, the question to a person, and the answer in
// codex's format. The gate has decided about the call before (calls.ts); a request asks for more than that,
// usually for leaving the sandbox. Codex's own `always` is never used, because it would outlive the session.
import type { Call } from "../../policy/call.ts";
import { prefixFor } from "../../policy/path-location.ts";
import type { Asked, RequestAnswer } from "../driver.ts";
import { pathsOf, showChange } from "./hook-calls.ts";
import type {
  CommandApproval,
  FileApproval,
  FileChangeItem,
  PermissionsApproval,
  Requests,
  UserInput,
} from "./protocol.ts";
import { commandOf } from "./shell-words.ts";

/** A request that codex waits for. */
export interface CodexRequest {
  asked: Asked;
  itemId: string;
  call: Call;
  /** Our answer in codex's format. */
  reply: (answer: RequestAnswer) => object;
}

/** undefined for an unknown kind of request. */
export function readRequest(
  method: string,
  params: Record<string, unknown>,
  change: FileChangeItem | undefined,
  directory: string,
): CodexRequest | undefined {
  switch (method as keyof Requests) {
    case "item/commandExecution/requestApproval":
      return commandRequest(params as unknown as CommandApproval, directory);
    case "item/fileChange/requestApproval":
      return fileRequest(params as unknown as FileApproval, change);
    case "item/permissions/requestApproval":
      return permissionsRequest(params as unknown as PermissionsApproval, directory);
    case "item/tool/requestUserInput":
      return questionRequest(params as unknown as UserInput);
    default:
      return undefined;
  }
}

const isAllowedBy = (answer: RequestAnswer) =>
  "permission" in answer && answer.permission === "once";

/** With `decline` the turn continues and the model is informed; `cancel` would end the turn. */
const decision = (answer: RequestAnswer) => ({
  decision: isAllowedBy(answer) ? "accept" : "decline",
});

function commandRequest(approval: CommandApproval, directory: string): CodexRequest {
  const { itemId, kind, networkApprovalContext: network, reason } = approval;
  const command = commandOf(approval.command ?? "");
  const cwd = approval.cwd ?? undefined;
  const shown = `${cwd ? prefixFor(directory, cwd) : "in an unknown directory: "}${command}`;
  const request = (call: Call, title: string, detail: string | null, rule?: string) => ({
    asked: { permission: { title, detail, alwaysRules: rule === undefined ? [] : [rule] } },
    itemId,
    call,
    reply: decision,
  });
  if (network) {
    const detail = `${network.protocol} ${network.host}`;
    const call: Call = { type: "fetch", callId: itemId, target: detail };
    return request(call, "Connect to a host on the network", detail);
  }
  if (kind === "writeStdin") {
    const call: Call = { type: "other", callId: itemId, tool: "write_stdin" };
    return request(call, "Write to a command that is running", command || null);
  }
  // Without a reason, codex may ask about the command itself (such as `rm -f`) and would then keep it in the
  // sandbox. The request does not show the difference, so it counts as leaving the sandbox.
  const title = reason
    ? `Run a command outside the sandbox: ${reason}`
    : "Run a command that codex asks about, possibly outside the sandbox";
  const call: Call = { type: "execute", callId: itemId, command, cwd, leavesSandbox: true };
  return request(call, title, shown, `outside the sandbox: ${shown}`);
}

function fileRequest(
  { itemId, reason, grantRoot }: FileApproval,
  change: FileChangeItem | undefined,
): CodexRequest {
  const changes = change?.changes ?? [];
  const paths = [...pathsOf(changes), ...(grantRoot ? [grantRoot] : [])];
  const shown = changes.map(showChange).join("\n");
  return {
    asked: {
      permission: {
        title: `Change files without the sandbox${reason ? `: ${reason}` : ""}`,
        detail: shown || null,
        // The rule covers exactly this change, not other changes of the same files.
        alwaysRules: shown ? [`without the sandbox: ${shown}`] : [],
      },
    },
    itemId,
    call: { type: "edit", callId: itemId, paths, leavesSandbox: true },
    reply: decision,
  };
}

function permissionsRequest(approval: PermissionsApproval, directory: string): CodexRequest {
  const { itemId, permissions, reason } = approval;
  const title = `Grant more permissions for this turn${reason ? `: ${reason}` : ""}`;
  const detail = JSON.stringify(permissions);
  const call = { type: "execute", callId: itemId, command: "", cwd: directory } as const;
  return {
    asked: { permission: { title, detail, alwaysRules: [] } },
    itemId,
    call: { ...call, leavesSandbox: true },
    reply: (answer) => ({ permissions: isAllowedBy(answer) ? permissions : {}, scope: "turn" }),
  };
}

function questionRequest({ itemId, questions }: UserInput): CodexRequest {
  return {
    asked: {
      questions: questions.map(({ question, options, isOther }) => ({
        question,
        options: (options ?? []).map(({ label, description }) => ({
          label,
          description: description || null,
        })),
        multiple: false,
        freeText: isOther,
      })),
    },
    itemId,
    call: { type: "question", callId: itemId },
    reply(answer) {
      if (!("answers" in answer)) return { answers: {} };
      const replies = questions.map(({ id }, index) => [
        id,
        { answers: answer.answers[index] ?? [] },
      ]);
      return { answers: Object.fromEntries(replies) as object };
    },
  };
}
