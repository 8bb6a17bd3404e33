// Everything that a session has changed, as one patch. Each file costs one command to the host, so only some
// are read; the others are named.
import type { FileChange } from "@hawser/contract";
import type { CallAction } from "../transports/mcp/guide.ts";

/** In characters. */
const largestText = 200_000;
const mostFiles = 100;
/** How many files the host is asked for at the same time. */
const atOnce = 4;
/** No file is begun after this time. Clients usually wait for a minute, and a host answers within 25 seconds. */
const longestMs = 10_000;

export async function diffOf(
  call: CallAction,
  sessionId: string,
  clock: () => number = () => performance.now(),
): Promise<string> {
  const { files } = (await call("get_session_diff", { sessionId })) as { files: FileChange[] };
  const startedAt = clock();
  const patches: string[] = [];
  let begun = 0;
  let size = 0;
  const isEnough = () => size > largestText || clock() - startedAt > longestMs;

  async function readSome(): Promise<void> {
    while (begun < Math.min(files.length, mostFiles) && !isEnough()) {
      const place = begun++;
      try {
        patches[place] = await readPatch(files[place]!);
      } catch (error) {
        // The others stop too.
        begun = files.length;
        throw error;
      }
    }
  }

  async function readPatch(file: FileChange): Promise<string> {
    const { path } = file;
    let patch = "";
    for (let cursor: string | null = null; ;) {
      let page: { patch: string; nextCursor: string | null };
      try {
        const from = cursor === null ? {} : { cursor };
        page = (await call("get_session_file_diff", { sessionId, path, ...from })) as typeof page;
      } catch (error) {
        const code = codeOf(error);
        // The session goes on working while it is read: a file is changed back, or changed once more.
        if (code === "not_found") return `# ${path}: not changed any more\n`;
        if (code === "invalid_input" && cursor !== null) return patch + pointer(file);
        throw error;
      }
      patch += page.patch;
      size += page.patch.length;
      cursor = page.nextCursor;
      if (cursor === null) return patch;
      if (isEnough())
        return `${patch}# ${path}: the rest of the patch is missing; see get_session_file_diff\n`;
    }
  }

  await Promise.all(Array.from({ length: atOnce }, readSome));
  let text = "";
  for (const [place, file] of files.entries()) {
    // A file that was begun late may have been read although the files before it are enough.
    text += text.length > largestText ? pointer(file) : (patches[place] ?? pointer(file));
  }
  return text;
}

const pointer = ({ path, added, removed }: FileChange) =>
  `# ${path}: ${added} lines added, ${removed} removed; see get_session_file_diff\n`;

/** The code of a refusal, which the transport throws as an error of its protocol. */
const codeOf = (error: unknown) => (error as { data?: { code?: unknown } }).data?.code;
