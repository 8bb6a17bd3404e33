// What opencode asks, in our words. A rule names exactly what was asked and nothing more: opencode's own
// rule for `always` would cover other commands too.
import type { Asked } from "../driver.ts";
import type { AgentRequest, PermissionRequest, ToolPart } from "./frames.ts";
import { subjectOf } from "./tool-words.ts";

export function askedOf(request: AgentRequest, call: ToolPart | undefined): Asked {
  if ("questions" in request) {
    return {
      questions: request.questions.map(({ question, options, multiple, custom }) => ({
        question,
        options: options.map(({ label, description }) => ({
          label,
          description: description ?? null,
        })),
        multiple: multiple ?? false,
        freeText: custom ?? true,
      })),
    };
  }
  const detail = detailOf(request, call);
  const isExact = detail !== null && request.permission !== "doom_loop";
  return {
    permission: {
      title: titleOf(request, call),
      detail,
      alwaysRules: isExact ? [`${request.permission}: ${detail}`] : [],
    },
  };
}

function titleOf({ permission }: PermissionRequest, call: ToolPart | undefined): string {
  const tool = call?.tool ?? "a tool";
  switch (permission) {
    case "bash":
      return "Run a command";
    case "webfetch":
      return "Fetch a web page";
    case "external_directory":
      return `Use ${tool} outside the session's directory`;
    case "doom_loop":
      return `Go on although ${tool} was called the same way again and again`;
    default:
      return `Use ${permission}`;
  }
}

function detailOf(request: PermissionRequest, call: ToolPart | undefined): string | null {
  const { permission, metadata, patterns } = request;
  const said = (name: string) => (typeof metadata[name] === "string" ? metadata[name] : undefined);
  if (permission === "bash") return said("command") ?? null;
  if (permission === "webfetch") return said("url") ?? null;
  if (permission === "external_directory" && call) {
    return `${call.tool} ${subjectOf(call) ?? patterns.join(", ")}`;
  }
  return patterns.length > 0 ? patterns.join(", ") : null;
}
