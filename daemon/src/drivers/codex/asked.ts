// What codex asks: whether the policy decides it, how a person is asked, and the answer in codex's words.
// Codex's own `always` is never used: it would outlive the session.
import type { AgentPolicy } from "@hawser/contract";
import type { Asked, RequestAnswer } from "../driver.ts";
import { locatePath, prefixFor } from "../path-location.ts";
import type {
  CommandApproval,
  FileApproval,
  FileChangeItem,
  PermissionsApproval,
  Requests,
  UserInput,
} from "./protocol.ts";
import { commandOf, partsOf } from "./shell-words.ts";

/** Codex waits for the answer to this. */
export interface Question {
  asked: Asked;
  itemId: string;
  /** Made without a person, where the policy says how. */
  decided: RequestAnswer | undefined;
  reply: (answer: RequestAnswer) => object;
}

interface Place {
  directory: string;
  policy: AgentPolicy;
}

/** Nothing for a request that we have no answer to. */
export function questionOf(
  method: string,
  params: Record<string, unknown>,
  change: FileChangeItem | undefined,
  place: Place,
): Question | undefined {
  switch (method as keyof Requests) {
    case "item/commandExecution/requestApproval":
      return aboutCommand(params as unknown as CommandApproval, place);
    case "item/fileChange/requestApproval":
      return aboutFiles(params as unknown as FileApproval, change, place);
    case "item/permissions/requestApproval":
      return aboutPermissions(params as unknown as PermissionsApproval, place);
    case "item/tool/requestUserInput":
      return aboutUser(params as unknown as UserInput);
    default:
      return undefined;
  }
}

const isAllowedBy = (answer: RequestAnswer) =>
  "permission" in answer && answer.permission === "once";

/** `decline` tells the model and lets the turn go on; `cancel` would end it. */
const decision = (answer: RequestAnswer) => ({
  decision: isAllowedBy(answer) ? "accept" : "decline",
});

function aboutCommand(approval: CommandApproval, { directory, policy }: Place): Question {
  const { itemId, kind, networkApprovalContext: network, reason } = approval;
  const command = commandOf(approval.command ?? "");
  // The model may name any directory.
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
  // What is allowed and then stopped by the sandbox, codex runs again without it (decision 0026).
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

/** The very command; or each of its parts, where a rule that ends in ` *` covers their beginning. */
function covers(allowed: readonly string[], command: string): boolean {
  if (allowed.includes(command)) return true;
  const parts = partsOf(command);
  const isAllowed = (part: string) =>
    allowed.some(
      (rule) =>
        part === rule ||
        (rule.endsWith(" *") && (part === rule.slice(0, -2) || part.startsWith(rule.slice(0, -1)))),
    );
  return parts !== undefined && parts.every(isAllowed);
}

function aboutFiles(
  { itemId, reason, grantRoot }: FileApproval,
  change: FileChangeItem | undefined,
  { directory, policy }: Place,
): Question {
  const changes = change?.changes ?? [];
  const paths = changes.flatMap(({ path, kind }) =>
    kind.move_path ? [path, kind.move_path] : [path],
  );
  // An allowed change is made without the sandbox.
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
        // The same change again; another change of the same file is asked about.
        alwaysRules: shown ? [shown] : [],
      },
    },
    itemId,
    decided: isPlain ? { permission: "once" } : refused,
    reply: decision,
  };
}

function aboutPermissions(approval: PermissionsApproval, { policy }: Place): Question {
  const { itemId, permissions, reason } = approval;
  const title = `Be allowed more for this turn${reason ? `: ${reason}` : ""}`;
  return {
    asked: { permission: { title, detail: JSON.stringify(permissions), alwaysRules: [] } },
    itemId,
    decided: policy.outsideWorktree === "refuse" ? { permission: "reject" } : undefined,
    reply: (answer) => ({ permissions: isAllowedBy(answer) ? permissions : {}, scope: "turn" }),
  };
}

function aboutUser({ itemId, questions }: UserInput): Question {
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
      const given = questions.map(({ id }, place) => [
        id,
        { answers: answer.answers[place] ?? [] },
      ]);
      return { answers: Object.fromEntries(given) as object };
    },
  };
}
