// Translates a request of opencode into ours. It shows the whole call, also if opencode asks about a part of
// it, because it is the only request about the call. The rule for `always` names exactly what was requested;
// opencode's own rule would cover other commands too. Requests whose text is no name of what they allow, such
// as a change with its content, have no rule.
import type { AskedPermission } from "@hawser/contract";
import type { Asked } from "../driver.ts";
import { absolutePath, prefixFor } from "../../policy/path-location.ts";
import { realOf } from "../../real-path.ts";
import { changedBy, mentionedFiles, mentionsIn, withInstructions, type Place } from "./calls.ts";
import type { AgentRequest, PermissionRequest, ToolPart } from "./frames.ts";
import { subjectFieldOf, subjectOf } from "./tool-calls.ts";

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
  if (!call || call.state.status === "pending")
    return asked(`Use ${permission}`, permission, listed, false);
  const { tool, state } = call;
  const subject = subjectOf(call);
  const located = subject === null ? null : `${whereOf(call, directory)}${subject}`;
  const real = (paths: string[]) => [...new Set(paths.map((path) => realOf(path)))].join(", ");
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
      const paths = real(changedBy(request, call, directory)) || (listed ?? "unknown files");
      return asked(title, "edit", `${paths}\n\n${shorten(changeOf(request, call))}`, false);
    }
    case "read": {
      const title = "Read a file outside the session's directory";
      if (subject === null) return asked(title, tool, listed);
      const [path, ...added] = withInstructions([absolutePath(directory, subject)], directory);
      const more = added.length > 0 ? `, with the instructions in ${real(added)}` : "";
      return asked(title, tool, `${real([path!])}${more}`);
    }
    case "glob":
    case "grep":
      return asked("Search outside the session's directory", tool, located);
    case "task": {
      const name = String(state.input["subagent_type"]);
      const prompt = String(state.input["prompt"]);
      const files = mentionedFiles(mentionsIn(prompt), { directory, root });
      const reads = files.length > 0 ? `, which reads ${real(files)}` : "";
      return asked("Start a sub-agent", tool, `${name}${reads}\n\n${shorten(prompt)}`, false);
    }
    case "websearch":
    case "codesearch":
      return asked(`Use ${tool}`, tool, listed);
    default:
      return asked(`Use ${tool}`, tool, shorten(JSON.stringify(state.input)), false);
  }
}

/** The change as a diff. opencode has none yet when it asks about a file's directory. */
function changeOf({ metadata }: PermissionRequest, { state: { input } }: ToolPart): string {
  const texts = [metadata["diff"], input["content"], input["patchText"]];
  const found = texts.find((text) => typeof text === "string" && text !== "");
  return typeof found === "string" ? found : JSON.stringify(input);
}

const longest = 8 * 1024;

/** Keeps the head and the tail of a long text. */
function shorten(text: string): string {
  if (text.length <= longest) return text;
  const left = `${text.length - longest} of ${text.length} characters are left out here`;
  // The cut may split a character.
  const [head, tail] = [text.slice(0, longest / 2), text.slice(-longest / 2)];
  return `${head}\n… ${left} …\n${tail}`.toWellFormed();
}

/** Prefix that names the directory of a command or a search, if the call names one. */
function whereOf(call: ToolPart, directory: string): string {
  const field = call.tool === "bash" ? "workdir" : "path";
  const place = call.state.input[field];
  const isNamed = typeof place === "string" && place !== "" && subjectFieldOf(call) !== field;
  return isNamed ? prefixFor(directory, place) : "";
}
