// Translates a request of opencode into ours. It shows the whole call, also if opencode asks about a part of
// it, because it is the only request about the call. The rule for `always` names exactly what was requested;
// opencode's own rule would cover other commands too.
import type { AskedPermission } from "@hawser/contract";
import type { Asked } from "../driver.ts";
import { absolutePath, prefixFor } from "../../policy/path-location.ts";
import { realOf } from "../../real-path.ts";
import { changedBy, mentionedFiles, type Place } from "./calls.ts";
import type { AgentRequest, PermissionRequest, ToolPart } from "./frames.ts";
import { subjectOf } from "./tool-calls.ts";

export function askedOf(
  request: AgentRequest,
  call: ToolPart | undefined,
  place: Pick<Place, "directory" | "root">,
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
  return { permission: permissionOf(request, call, place) };
}

function permissionOf(
  request: PermissionRequest,
  call: ToolPart | undefined,
  { directory, root }: Pick<Place, "directory" | "root">,
): AskedPermission {
  const { permission, patterns } = request;
  const listed = patterns.length > 0 ? patterns.join(", ") : null;
  const asked = (title: string, name: string, detail: string | null, isExact = true) => ({
    title,
    detail,
    alwaysRules: isExact && detail !== null ? [`${name}: ${detail}`] : [],
  });
  if (permission === "doom_loop") {
    const tool = call?.tool ?? listed ?? "a tool";
    const title = `Continue although ${tool} was called repeatedly with the same input`;
    return asked(title, permission, listed, false);
  }
  if (!call) return asked(`Use ${permission}`, permission, listed, false);
  const { tool, state } = call;
  const subject = subjectOf(call);
  const located = subject === null ? null : `${whereOf(call, directory)}${subject}`;
  const real = (paths: string[]) => paths.map((path) => realOf(path)).join(", ");
  switch (tool) {
    case "bash":
      return asked("Run a command", tool, located);
    case "webfetch":
      return asked("Fetch a web page", tool, subject);
    case "edit":
    case "write":
    case "multiedit":
    case "apply_patch": {
      const title =
        "Change files outside the session's directory, git's own, or an agent's settings";
      return asked(title, "edit", real(changedBy(request, call, directory)) || listed);
    }
    case "read": {
      const path = subject === null ? listed : real([absolutePath(directory, subject)]);
      return asked("Read a file outside the session's directory", tool, path);
    }
    case "glob":
    case "grep":
      return asked("Search outside the session's directory", tool, located);
    case "task": {
      const files = mentionedFiles(String(state.input["prompt"]), root);
      const detail = files.length > 0 ? `${listed}, which reads ${real(files)}` : listed;
      return asked("Start a sub-agent", tool, detail);
    }
    default:
      return asked(`Use ${permission}`, permission, listed);
  }
}

/** Prefix that names the directory of a command or a search, if the call names one. */
function whereOf(call: ToolPart, directory: string): string {
  const { workdir, path } = call.state.input;
  const place = call.tool === "bash" ? workdir : path;
  const isNamed = typeof place === "string" && place !== "" && place !== subjectOf(call);
  return isNamed ? prefixFor(directory, place) : "";
}
