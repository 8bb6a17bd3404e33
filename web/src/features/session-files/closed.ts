// Why a file is not shown at once. A person can open it all the same.
import type { Patch } from "./patch.ts";

export type ClosedReason = "large" | "generated" | "binary" | "minified";

/** More changed lines than this are rarely read. */
const mostLines = 400;
/** No person writes lines that long. */
const longestLine = 1_000;

const generatedNames =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|bun\.lock|go\.sum|[^/]+\.lock|[^/]+\.snap|[^/]+\.map)$|\.(?:gen|generated|pb|g)\.[^/.]+$|_pb2?\.py$|(?:^|\/)(?:node_modules|vendor|dist|__generated__)\//;
const minifiedNames = /[.-]min\.(?:js|css|mjs)$/;

export interface MeasuredFile {
  path: string;
  added: number;
  removed: number;
  /** Null or undefined: not known. */
  isBinary?: boolean | null | undefined;
}

/** Undefined: it is shown. `patch` is undefined until it was read; then only the file's figures and name decide. */
export function closedReason(
  { path, added, removed, isBinary }: MeasuredFile,
  patch: Patch | undefined,
): ClosedReason | undefined {
  if (isBinary === true || patch?.isBinary === true) return "binary";
  if (minifiedNames.test(path)) return "minified";
  if (generatedNames.test(path)) return "generated";
  if (added + removed > mostLines) return "large";
  const hasLongLine = patch?.hunks.some(({ lines }) =>
    lines.some(({ text }) => text.length > longestLine),
  );
  return hasLongLine === true ? "minified" : undefined;
}
