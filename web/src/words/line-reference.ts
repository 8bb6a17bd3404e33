// How a prompt names lines of a file: "src/webhooks/handle-transfer.ts:42-46 (new)". Comments are sent in this form, and
// the transcript leads from it to the lines.

export interface LineReference {
  path: string;
  side: "old" | "new";
  first: number;
  last: number;
}

export function lineReference({ path, side, first, last }: LineReference): string {
  return `${path}:${first}${last > first ? `-${last}` : ""} (${side})`;
}

const form = /^(.+):([1-9]\d{0,8})(?:-([1-9]\d{0,8}))? \((old|new)\)$/;

/** Undefined for every other line. */
export function readLineReference(line: string): LineReference | undefined {
  const [, path, first, last, side] = form.exec(line) ?? [];
  if (path === undefined) return undefined;
  const from = Number(first);
  return {
    path,
    side: side as "old" | "new",
    first: from,
    last: Math.max(from, Number(last ?? from)),
  };
}
