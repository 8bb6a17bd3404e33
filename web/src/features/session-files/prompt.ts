// Comments as one prompt, in a fixed form: for each one where it stands, the lines as they were picked, and its text, in
// the order of the files. Nothing of ours stands around it.
import { lineReference } from "../../words/line-reference.ts";
import type { Anchor } from "./anchors.ts";

export type Remark = Pick<Anchor, "path" | "side" | "first" | "last" | "lines"> & { text: string };

/** `paths`: the files as the list shows them. A file that is not in it any more comes last. */
export function promptOf(
  comments: readonly Remark[],
  paths: readonly string[],
  opening: string,
): string {
  const parts = inFileOrder(comments, paths).map((comment) =>
    [lineReference(comment), codeBlock(comment.lines.join("\n")), comment.text.trim()].join("\n"),
  );
  return [opening.trim(), ...parts].filter((part) => part !== "").join("\n\n");
}

export function inFileOrder<Place extends Pick<Anchor, "path" | "side" | "first">>(
  comments: readonly Place[],
  paths: readonly string[],
): Place[] {
  const rank = (path: string) => {
    const at = paths.indexOf(path);
    return at === -1 ? paths.length : at;
  };
  return comments.toSorted(
    (a, b) =>
      rank(a.path) - rank(b.path) ||
      (a.path < b.path ? -1 : a.path > b.path ? 1 : 0) ||
      a.first - b.first,
  );
}

/** Its fence is longer than any in the code. */
function codeBlock(code: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${code}\n${fence}`;
}
