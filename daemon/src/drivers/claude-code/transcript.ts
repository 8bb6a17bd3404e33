// Claude Code's own record of a session, in its configuration's directory. It says whether a session is
// known, and what was done in it after the last daemon heard of it. It is never removed.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../environment.ts";
import { replaceText } from "../../state/replace-file.ts";
import type { Message } from "./messages.ts";

/** Where Claude Code keeps settings, login and transcripts of whoever has this environment. */
export function configDirectory(environment: Environment): string {
  const { CLAUDE_CONFIG_DIR: given, HOME: home = homedir() } = environment;
  return given ?? join(home, ".claude");
}

/** The file's folder is named after the working directory by a rule of Claude Code's own. */
export function findTranscript(config: string, id: string): string | undefined {
  if (!/^[0-9a-f-]{36}$/.test(id)) return undefined;
  return folders(config)
    .map((folder) => join(folder, `${id}.jsonl`))
    .find(existsSync);
}

function folders(config: string): string[] {
  const projects = join(config, "projects");
  try {
    return readdirSync(projects).map((name) => join(projects, name));
  } catch {
    return [];
  }
}

interface Entry {
  type: string;
  uuid?: string;
  isSidechain?: boolean;
  message?: unknown;
  toolUseResult?: unknown;
  error?: string;
}

const youngPrefix = "first-turn:";

/** The cursor of an entry while the transcript may not be written yet. */
export const youngCursor = (uuid: string) => youngPrefix + uuid;

/** Whether a session with this cursor may have no transcript. */
export const isYoungCursor = (cursor: string | null) =>
  cursor === null || cursor.startsWith(youngPrefix);

/** What the session's own agent said and was given: up to the cursor's entry, and after it. */
export function readAround(
  transcript: string,
  cursor: string,
): { before: Message[]; after: Message[] } {
  const entries = readFileSync(transcript, "utf8").split("\n").flatMap(readEntry);
  const id = cursor.replace(youngPrefix, "");
  const at = entries.findIndex(({ uuid }) => uuid === id) + 1;
  // One that is not there any more was of a part that is no longer the session's.
  if (at === 0) return { before: [], after: [] };
  return {
    before: entries.slice(0, at).flatMap(messageIn),
    after: entries.slice(at).flatMap(messageIn),
  };
}

export interface Before {
  transcript: string;
  text: string;
  /** Nobody had said anything yet. */
  isEmpty: boolean;
}

/** What the transcript was before one of our prompts; nothing when it has no such prompt. */
export function readBefore(config: string, id: string, uuid: string): Before | undefined {
  const transcript = findTranscript(config, id);
  if (transcript === undefined) return undefined;
  const lines = readFileSync(transcript, "utf8").split("\n");
  const at = lines.findIndex((line) => readEntry(line)[0]?.uuid === uuid);
  if (at === -1) return undefined;
  const before = lines.slice(0, at);
  const isEmpty = before.flatMap(readEntry).flatMap(messageIn).length === 0;
  return { transcript, text: before.map((line) => `${line}\n`).join(""), isEmpty };
}

/**
 * Makes the transcript what it was. Claude Code only ever adds to it, so that this is a state that it was
 * in. Its own way of going back takes effect with the next prompt only, and ends where a summary begins.
 * What there was is put beside it, where Claude Code keeps the session's other things.
 */
export function goBackTo({ transcript, text, isEmpty }: Before): void {
  const beside = transcript.slice(0, -".jsonl".length);
  mkdirSync(beside, { recursive: true, mode: 0o700 });
  const aside = join(beside, `before-revert-${Date.now()}.jsonl`);
  if (isEmpty) return renameSync(transcript, aside);
  copyFileSync(transcript, aside);
  replaceText(transcript, text);
}

function messageIn({ type, isSidechain, message, ...entry }: Entry): Message[] {
  if ((type !== "assistant" && type !== "user") || isSidechain === true) return [];
  const { uuid, error, toolUseResult: tool_use_result } = entry;
  const said = { type, uuid, message, error, tool_use_result, parent_tool_use_id: null };
  return [said as unknown as Message];
}

/** A line that was being written when its writer died is no entry. */
function readEntry(line: string): Entry[] {
  try {
    return [JSON.parse(line) as Entry];
  } catch {
    return [];
  }
}
