// Claude Code's transcript of a session, a file in its configuration directory. The driver reads whether a
// session exists and what happened after the last reported event. It never removes a transcript.
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

/** Directory in which Claude Code keeps settings, login and transcripts. */
export function configDirectory(environment: Environment): string {
  const { CLAUDE_CONFIG_DIR: configured, HOME: home = homedir() } = environment;
  return configured ?? join(home, ".claude");
}

/**
 * Searches all folders: Claude Code derives the folder's name from the working directory in its own way.
 */
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

const firstTurnPrefix = "first-turn:";

/** Cursor during the first turn, when the transcript may not exist yet. */
export const firstTurnCursor = (uuid: string) => firstTurnPrefix + uuid;

/** Whether a session with this cursor may have no transcript yet. */
export const isFirstTurnCursor = (cursor: string | null) =>
  cursor === null || cursor.startsWith(firstTurnPrefix);

/** Messages of the session's own agent, not of sub-agents, up to the cursor's entry and after it. */
export function readAround(
  transcript: string,
  cursor: string,
): { before: Message[]; after: Message[] } {
  const entries = readFileSync(transcript, "utf8").split("\n").flatMap(readEntry);
  const id = cursor.replace(firstTurnPrefix, "");
  const at = entries.findIndex(({ uuid }) => uuid === id) + 1;
  // The entry is missing if it was reverted: nothing is left to report.
  if (at === 0) return { before: [], after: [] };
  return {
    before: entries.slice(0, at).flatMap(messageIn),
    after: entries.slice(at).flatMap(messageIn),
  };
}

export interface EarlierTranscript {
  transcript: string;
  text: string;
  /** True if the transcript had no messages. */
  isEmpty: boolean;
}

/** The transcript as it was before one of our prompts; undefined if it has no such prompt. */
export function readBefore(
  config: string,
  id: string,
  uuid: string,
): EarlierTranscript | undefined {
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
 * Restores an earlier state of the transcript. Claude Code only appends to it, so its beginning is always a
 * valid transcript. Claude Code's own way to revert takes effect only with the next prompt, and cannot go
 * back before a summary. The current transcript is kept in the session's folder beside it.
 */
export function restoreTranscript({ transcript, text, isEmpty }: EarlierTranscript): void {
  const folder = transcript.slice(0, -".jsonl".length);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const copy = join(folder, `before-revert-${Date.now()}.jsonl`);
  if (isEmpty) return renameSync(transcript, copy);
  copyFileSync(transcript, copy);
  replaceText(transcript, text);
}

function messageIn({ type, isSidechain, message, ...entry }: Entry): Message[] {
  if ((type !== "assistant" && type !== "user") || isSidechain === true) return [];
  const { uuid, error, toolUseResult: tool_use_result } = entry;
  const read = { type, uuid, message, error, tool_use_result, parent_tool_use_id: null };
  return [read as unknown as Message];
}

/** Empty for an incomplete line, as a killed process leaves it. */
function readEntry(line: string): Entry[] {
  try {
    return [JSON.parse(line) as Entry];
  } catch {
    return [];
  }
}
