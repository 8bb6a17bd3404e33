// A patch in git's format as hunks of numbered lines.

export type Side = "old" | "new";

export interface PatchLine {
  /** Undefined: the line is not on this side. */
  old: number | undefined;
  new: number | undefined;
  text: string;
  /** The file ends behind this line without a line break. */
  isUnended: boolean;
}

export interface Hunk {
  /** What git found above the lines, such as the name of a function. */
  heading: string;
  lines: PatchLine[];
}

export type FileStatus = "added" | "modified" | "deleted" | "renamed";

export interface Patch {
  status: FileStatus;
  previousPath: string | undefined;
  isBinary: boolean;
  hunks: Hunk[];
  /** Hash of the text. Detects that the patch has changed. */
  mark: string;
}

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

export function parsePatch(text: string): Patch {
  const patch: Patch = {
    status: "modified",
    previousPath: undefined,
    isBinary: false,
    hunks: [],
    mark: markOf(text),
  };
  let hunk: Hunk | undefined;
  let old = 0;
  let now = 0;
  for (const line of linesOf(text)) {
    const head = hunkHead.exec(line);
    if (head) {
      hunk = { heading: head[3]!, lines: [] };
      patch.hunks.push(hunk);
      old = Number(head[1]);
      now = Number(head[2]);
    } else if (hunk) {
      const last = hunk.lines.at(-1);
      if (line.startsWith("+")) hunk.lines.push(lineOf(line, undefined, now++));
      else if (line.startsWith("-")) hunk.lines.push(lineOf(line, old++, undefined));
      else if (line.startsWith("\\") && last) last.isUnended = true;
      else hunk.lines.push(lineOf(line, old++, now++));
    } else readHead(patch, line);
  }
  dropReturns(patch.hunks);
  return patch;
}

/** Without the piece behind the last line break. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

const lineOf = (line: string, old: number | undefined, now: number | undefined): PatchLine => ({
  old,
  new: now,
  text: line.slice(1),
  isUnended: false,
});

function readHead(patch: Patch, line: string): void {
  if (line.startsWith("new file mode")) patch.status = "added";
  else if (line.startsWith("deleted file mode")) patch.status = "deleted";
  else if (line.startsWith("rename from ")) {
    patch.status = "renamed";
    patch.previousPath = line.slice("rename from ".length);
  } else if (line.startsWith("Binary files ") || line === "GIT binary patch") patch.isBinary = true;
}

/** A file all of whose lines end with CR LF is shown without the CR. In any other file a CR is drawn. */
function dropReturns(hunks: readonly Hunk[]): void {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  if (!lines.every(({ text, isUnended }) => isUnended || text.endsWith("\r"))) return;
  for (const line of lines) if (line.text.endsWith("\r")) line.text = line.text.slice(0, -1);
}

/** A short number for a text (FNV-1a). Two texts with the same one are a matter of luck, and then a file stays folded. */
function markOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return `${text.length}:${(hash >>> 0).toString(36)}`;
}

/** Text and place of every line on one side. */
export function sideOf({ hunks }: Pick<Patch, "hunks">, side: Side): Map<number, string> {
  const lines = new Map<number, string>();
  for (const hunk of hunks) {
    for (const line of hunk.lines) {
      const number = line[side];
      if (number !== undefined) lines.set(number, line.text);
    }
  }
  return lines;
}
