// Translates a request of codex: the policy's decision, the question to a person, and the answer in codex's
// format. Codex's own `always` is never used, because it would outlive the session.
import type { Asked, RequestAnswer, SessionSettings } from "../driver.ts";
import { ruleCovers } from "../command-rules.ts";
import { locatePath, prefixFor } from "../../policy/path-location.ts";
import type {
  CommandApproval,
  FileApproval,
  FileChangeItem,
  PermissionsApproval,
  Requests,
  UserInput,
} from "./protocol.ts";
import { commandOf, partsOf } from "./shell-words.ts";

/** A request that codex waits for. */
export interface CodexRequest {
  asked: Asked;
  itemId: string;
  /** Answer of the policy; undefined if a person must answer. */
  decided: RequestAnswer | undefined;
  /** Our answer in codex's format. */
  reply: (answer: RequestAnswer) => object;
}

type Context = Pick<SessionSettings, "directory" | "policy">;

/** undefined for an unknown kind of request. */
export function readRequest(
  method: string,
  params: Record<string, unknown>,
  change: FileChangeItem | undefined,
  context: Context,
): CodexRequest | undefined {
  switch (method as keyof Requests) {
    case "item/commandExecution/requestApproval":
      return commandRequest(params as unknown as CommandApproval, context);
    case "item/fileChange/requestApproval":
      return fileRequest(params as unknown as FileApproval, change, context);
    case "item/permissions/requestApproval":
      return permissionsRequest(params as unknown as PermissionsApproval, context);
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

function commandRequest(approval: CommandApproval, { directory, policy }: Context): CodexRequest {
  const { itemId, kind, networkApprovalContext: network, reason } = approval;
  const command = commandOf(approval.command ?? "");
  // The command may run in any directory that the model names.
  const { cwd } = approval;
  const place = cwd ? locatePath(directory, cwd) : "outside";
  const shown = `${cwd ? prefixFor(directory, cwd) : "in an unknown directory: "}${command}`;
  const refused =
    policy.outsideWorktree === "refuse" ? { permission: "reject" as const } : undefined;
  const asked = (title: string, detail: string | null, rule?: string): Asked => ({
    permission: { title, detail, alwaysRules: rule === undefined ? [] : [rule] },
  });
  if (network) {
    const detail = `${network.protocol} ${network.host}`;
    const title = "Connect to a host on the network";
    return { asked: asked(title, detail), itemId, decided: undefined, reply: decision };
  }
  if (kind === "writeStdin") {
    const title = "Write to a command that is running";
    return { asked: asked(title, command || null), itemId, decided: undefined, reply: decision };
  }
  if (reason || approval.additionalPermissions) {
    const title = `Run a command outside the sandbox${reason ? `: ${reason}` : ""}`;
    const rule = `outside the sandbox: ${shown}`;
    return { asked: asked(title, shown, rule), itemId, decided: refused, reply: decision };
  }
  // Codex repeats an allowed command without the sandbox if that stops it (decision 0026).
  const isOutside = place === "outside";
  const title = `Run a command${isOutside ? " outside the session's directory" : ""}, without the sandbox if that stops it`;
  const isAllowed = place === "inside" && covers(policy.allowedCommands, command);
  const allowed = isAllowed ? { permission: "once" as const } : undefined;
  return {
    asked: asked(title, shown, shown),
    itemId,
    decided: isOutside ? refused : allowed,
    reply: decision,
  };
}

/** Whether the policy lists the whole command, or rules cover each of its parts. */
function covers(allowed: readonly string[], command: string): boolean {
  if (allowed.includes(command)) return true;
  const parts = partsOf(command);
  const isAllowed = (part: string) => allowed.some((rule) => ruleCovers(rule, part));
  return parts !== undefined && parts.every(isAllowed);
}

function fileRequest(
  { itemId, reason, grantRoot }: FileApproval,
  change: FileChangeItem | undefined,
  { directory, policy }: Context,
): CodexRequest {
  const changes = change?.changes ?? [];
  const paths = changes.flatMap(({ path, kind }) =>
    kind.move_path ? [path, kind.move_path] : [path],
  );
  // An allowed change is made without the sandbox, so every path is checked.
  const isInside = paths.every((path) => locatePath(directory, path) === "inside");
  const isPlain = paths.length > 0 && isInside && !grantRoot;
  const refused =
    policy.outsideWorktree === "refuse" ? { permission: "reject" as const } : undefined;
  const shown = changes.map(({ path, kind, diff }) => `${kind.type} ${path}\n${diff}`).join("\n");
  return {
    asked: {
      permission: {
        title: `Change files outside the session's directory${reason ? `: ${reason}` : ""}`,
        detail: shown || null,
        // The rule covers exactly this change, not other changes of the same files.
        alwaysRules: shown ? [shown] : [],
      },
    },
    itemId,
    decided: isPlain ? { permission: "once" } : refused,
    reply: decision,
  };
}

function permissionsRequest(approval: PermissionsApproval, { policy }: Context): CodexRequest {
  const { itemId, permissions, reason } = approval;
  const title = `Grant more permissions for this turn${reason ? `: ${reason}` : ""}`;
  return {
    asked: { permission: { title, detail: JSON.stringify(permissions), alwaysRules: [] } },
    itemId,
    decided: policy.outsideWorktree === "refuse" ? { permission: "reject" } : undefined,
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
    decided: undefined,
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
