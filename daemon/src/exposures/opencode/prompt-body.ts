// The bodies with which opencode's clients begin a turn, as prompts of the session layer. Only what a caller of
// Hawser's own actions can say too is accepted.
import type { ModelChoice } from "@hawser/contract";
import type { ReceivedFile } from "../../attachments/attachments.ts";
import { isObject } from "../../drivers/is-object.ts";
import { RequestRefused } from "../answer.ts";

export interface ClientPrompt {
  text: string;
  /** Name of the slash command that `text` are the arguments of; undefined for a plain prompt. */
  command: string | undefined;
  model: ModelChoice | undefined;
  agent: string | undefined;
  options: Record<string, string> | undefined;
  attachments: ReceivedFile[];
  /** The id under which the client shows the prompt already; undefined if it does not. */
  shownAs: string | undefined;
}

const messageID = /^msg_[0-9A-Za-z]{1,64}$/;

type Json = Record<string, unknown>;

const refused = (message: string) => new RequestRefused(400, "invalid_input", message);

/** Reads the body of /message and /prompt_async. Throws RequestRefused. */
export function readPrompt(body: unknown): ClientPrompt {
  const fields = fieldsOf(body, ["parts", "messageID", "model", "agent", "variant", "noReply"]);
  if (fields["noReply"] === true) {
    throw refused("A message without a reply cannot be sent through this exposure.");
  }
  const { parts } = fields;
  if (!Array.isArray(parts) || !parts.every(isObject)) throw refused('"parts" must be a list.');
  const text = textOf(parts);
  const attachments = filesOf(parts);
  if (text.trim() === "" && attachments.length === 0) throw refused("The prompt is empty.");
  return {
    text,
    command: undefined,
    model: modelOf(fields["model"]),
    ...common(fields),
    attachments,
  };
}

/** Reads the body of /command. Throws RequestRefused. */
export function readCommand(body: unknown): ClientPrompt {
  const known = ["command", "arguments", "messageID", "model", "agent", "variant", "parts"];
  const fields = fieldsOf(body, known);
  const command = textIn(fields, "command");
  const { model, parts = [] } = fields;
  if (command === undefined) throw refused('"command" must be a text.');
  if (!Array.isArray(parts) || !parts.every(isObject)) throw refused('"parts" must be a list.');
  return {
    text: textIn(fields, "arguments") ?? "",
    command,
    model: typeof model === "string" ? splitModel(model) : undefined,
    ...common(fields),
    attachments: filesOf(parts),
  };
}

/** Any other field could do what no caller of Hawser can: other tools, other instructions, another session. */
function fieldsOf(body: unknown, known: readonly string[]): Json {
  if (!isObject(body)) throw refused("The request's body must be an object.");
  const strange = Object.keys(body).find((name) => !known.includes(name));
  if (strange === undefined) return body;
  throw refused(`"${strange.slice(0, 100)}" cannot be sent through this exposure.`);
}

function textIn(fields: Json, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || typeof value === "string") return value;
  throw refused(`"${name}" must be a text.`);
}

function common(fields: Json): Pick<ClientPrompt, "agent" | "options" | "shownAs"> {
  const variant = textIn(fields, "variant");
  const proposed = textIn(fields, "messageID");
  return {
    shownAs: proposed !== undefined && messageID.test(proposed) ? proposed : undefined,
    agent: textIn(fields, "agent"),
    options: variant === undefined ? undefined : { variant },
  };
}

function modelOf(value: unknown): ModelChoice | undefined {
  if (value === undefined) return undefined;
  const { providerID, modelID } = isObject(value) ? value : {};
  if (typeof providerID === "string" && typeof modelID === "string") {
    return { providerId: providerID, modelId: modelID };
  }
  throw refused('"model" must have "providerID" and "modelID".');
}

/** Names of models may contain slashes, those of providers do not. */
function splitModel(text: string): ModelChoice {
  const at = text.indexOf("/");
  if (at < 1) throw refused('"model" must have the form provider/model.');
  return { providerId: text.slice(0, at), modelId: text.slice(at + 1) };
}

function textOf(parts: readonly Json[]): string {
  return parts
    .flatMap(({ type, text }) => {
      if (type === "text") return typeof text === "string" ? [text] : [];
      // A mention of a sub-agent or of a file is in the text as well.
      if (type === "file" || type === "agent") return [];
      throw refused(`A part "${String(type).slice(0, 100)}" cannot be sent through this exposure.`);
    })
    .join("\n\n");
}

function filesOf(parts: readonly Json[]): ReceivedFile[] {
  return parts.flatMap(({ type, mime, filename, url }) => {
    if (type !== "file") return [];
    if (typeof url !== "string" || typeof mime !== "string") throw refused("A file has no url.");
    // opencode would read the file without asking. The agent reads what the text mentions, by the host's policy.
    if (url.startsWith("file:")) return [];
    const bytes = bytesOf(url);
    return [{ mime, filename: typeof filename === "string" ? filename : null, from: { bytes } }];
  });
}

function bytesOf(url: string): Uint8Array {
  const [head = "", data, ...more] = url.split(",");
  if (
    !/^data:[\w.+/-]*(?:;[\w=.+-]+)*;base64$/.test(head) ||
    data === undefined ||
    more.length > 0
  ) {
    throw refused("A file must come with the prompt, as a data: url in base64.");
  }
  return Buffer.from(data, "base64");
}
