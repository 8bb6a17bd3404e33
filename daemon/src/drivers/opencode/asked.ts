// Translates a request of opencode into ours. The rule for `always` names exactly what was requested;
// opencode's own rule would cover other commands too.
import type { Asked } from "../driver.ts";
import { prefixFor } from "../../policy/path-location.ts";
import { realOf } from "../../real-path.ts";
import type { AgentRequest, PermissionRequest, ToolPart } from "./frames.ts";
import { changedBy } from "./permission-rules.ts";
import { subjectOf } from "./tool-calls.ts";

export function askedOf(
  request: AgentRequest,
  call: ToolPart | undefined,
  directory: string,
): Asked {
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
  const detail = detailOf(request, call, directory);
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
    case "edit":
      return "Change files outside the session's directory, or git's own";
    case "external_directory":
      return `Use ${tool} outside the session's directory`;
    case "doom_loop":
      return `Continue although ${tool} was called repeatedly with the same input`;
    default:
      return `Use ${permission}`;
  }
}

function detailOf(
  request: PermissionRequest,
  call: ToolPart | undefined,
  directory: string,
): string | null {
  const { permission, metadata, patterns } = request;
  const said = (name: string) => (typeof metadata[name] === "string" ? metadata[name] : undefined);
  const where = call ? whereOf(call, directory) : "";
  if (permission === "bash") {
    const command = said("command");
    return command === undefined ? null : `${where}${command}`;
  }
  if (permission === "webfetch") return said("url") ?? null;
  if (permission === "edit") {
    const paths = changedBy(request).map((path) => realOf(path));
    return paths.length > 0 ? paths.join(", ") : patterns.join(", ");
  }
  if (permission === "external_directory" && call) {
    return `${call.tool} ${where}${subjectOf(call) ?? patterns.join(", ")}`;
  }
  return patterns.length > 0 ? patterns.join(", ") : null;
}

/** Prefix that names the directory of a command or a search, if the call names one. */
function whereOf(call: ToolPart, directory: string): string {
  const { workdir, path } = call.state.input;
  const place = call.tool === "bash" ? workdir : path;
  const isNamed = typeof place === "string" && place !== "" && place !== subjectOf(call);
  return isNamed ? prefixFor(directory, place) : "";
}
