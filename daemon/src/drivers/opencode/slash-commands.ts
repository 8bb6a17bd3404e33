// Checks the text that a slash command expands to. opencode reads each file that the text mentions with `@`,
// and lets the agent start each sub-agent that it mentions, without asking. The arguments alone do not show
// what is mentioned: the command's template may have an `@` before them, or opencode may remove their quotes.
import type { SessionCommand } from "@hawser/contract";
import { NotOffered, type SessionSettings } from "../driver.ts";
import type { Api } from "./api.ts";
import { mentionedFiles, mentionsIn } from "./calls.ts";

interface SlashCommand {
  name: string;
  description?: string;
  /** `skill`: the template is a file, often of the repository. */
  source?: string;
  /** No text if the command is a prompt of an MCP server. */
  template: unknown;
}

/** The commands in a directory; if it is undefined, those that every directory has. */
export async function listCommands(
  api: Api,
  directory: string | undefined,
  signal: AbortSignal,
): Promise<SessionCommand[]> {
  const listed = await api.request("GET", "/command", { directory, signal });
  return (listed as SlashCommand[]).map(({ name, description }) => ({
    name,
    description: description || null,
    // opencode adds the text to the end of a template that has no place for it.
    takesArguments: true,
  }));
}

/** Throws NotOffered unless the policy allows all that the command would mention. */
export async function checkMentions(
  api: Api,
  { directory, decide }: Pick<SessionSettings, "directory" | "decide">,
  { name, text }: { name: string; text: string },
  signal: AbortSignal,
): Promise<void> {
  const commands = await api.request("GET", "/command", { directory, signal });
  const command = (commands as SlashCommand[]).find((each) => each.name === name);
  const names = mentionsOf(command, text);
  if (names.length === 0) return;
  const [{ worktree }, agents] = (await Promise.all([
    api.request("GET", "/path", { directory, signal }),
    api.request("GET", "/agent", { directory, signal }),
  ])) as [{ worktree: string }, { name: string }[]];
  const agent = agents.find((each) => names.includes(each.name));
  const advice = "Leave it out, or send a prompt instead of a slash command.";
  if (agent)
    throw new NotOffered("text", `@${agent.name} would start a sub-agent unasked. ${advice}`);
  const paths = mentionedFiles(names, { directory, root: worktree });
  if (paths.length === 0) return;
  const { answer, rule } = decide({ callId: null, type: "read", paths });
  if (answer !== "allow")
    throw new NotOffered(
      "text",
      `A file that the command mentions with @ may not be read: ${rule}. ${advice}`,
    );
}

/** Names that the command mentions, except those that the host's user wrote into its template. */
export function mentionsOf(
  command: Omit<SlashCommand, "name"> | undefined,
  text: string,
): string[] {
  if (typeof command?.template !== "string") {
    // The template is unknown, so it may have an `@` before any word.
    const words = [...text.split(/\s+/), ...text.split(/[\s"']+/)].map((word) => `@${word}`);
    return [text, ...wordsOf(text), ...words].flatMap((each) => mentionsIn(withoutShell(each)));
  }
  const { source, template } = command;
  const mentions = (given: string) => mentionsIn(withoutShell(expand(template, given)));
  const own = source === "command" ? mentions("") : [];
  return mentions(text).filter((name) => !own.includes(name));
}

/** Expands a template as opencode 1.18 does: exactly, also where that looks like a mistake. */
function expand(template: string, text: string): string {
  const words = wordsOf(text);
  const placeholder = /\$(\d+)/g;
  const numbers = [...template.matchAll(placeholder)].map(([, digits]) => Number(digits));
  const last = Math.max(0, ...numbers);
  const numbered = template.replaceAll(placeholder, (_, digits: string) => {
    const at = Number(digits) - 1;
    if (at >= words.length) return "";
    return at + 1 === last ? words.slice(at).join(" ") : String(words[at]);
  });
  // A `$&` in the arguments has a meaning here, as it has for opencode.
  const expanded = numbered.replaceAll("$ARGUMENTS", text);
  const hasPlace = numbers.length > 0 || template.includes("$ARGUMENTS");
  return hasPlace ? expanded : `${expanded}\n\n${text}`;
}

/** Words of the arguments, without their quotes. */
const wordsOf = (text: string) =>
  (text.match(/(?:\[Image\s+\d+\]|"[^"]*"|'[^']*'|[^\s"']+)/gi) ?? []).map((word) =>
    word.replace(/^["']|["']$/g, ""),
  );

/** The gate replaces each shell text by a sentence without mentions. */
const withoutShell = (text: string) => text.replace(/!`[^`]+`/g, "\n");
