// What can be wrong, or surprising yet right, with a request's bytes and headers, whatever the
// action.
import { gzipSync } from "node:zlib";
import { replace, type Draft, type Mutation } from "./draft.ts";
import { Raw } from "./json-text.ts";

const nested = (depth: number, open: string, close: string, core = "") =>
  open.repeat(depth) + core + close.repeat(depth);

function rewriting(draft: Draft, rewrite: (text: string) => string | Buffer): boolean {
  draft.rewrite = rewrite;
  return true;
}

export const requestMutations = {
  deep(draft) {
    const text = draft.random.pick([
      nested(10_000, "[", "]"),
      nested(10_000, '{"a":', "}", "1"),
      nested(10_000, '[{"name":', "}]", '"x"'),
      nested(10_000, "[", ""),
      nested(33, "[", "]"),
    ]);
    if (
      replace(
        draft,
        () => !draft.random.oneIn(3),
        () => new Raw(text),
      )
    )
      return true;
    draft.instead = new Raw(text);
    return true;
  },

  noBody(draft) {
    draft.bodiless = true;
    if (draft.random.oneIn(3)) draft.contentType = undefined;
    return true;
  },

  emptyBody: (draft) => rewriting(draft, () => draft.random.pick(["", " ", "\n", "\t\r\n"])),

  contentType(draft) {
    draft.contentType = draft.random.pick([
      undefined,
      "text/plain",
      "text/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/jsonp",
      "application/octet-stream",
      "application",
      "json",
      "application/json; charset=utf-8",
      "Application/JSON",
      'application/json;charset="UTF-8"',
      "application/json; charset=utf-16",
      "application/json , text/plain",
      ";",
    ]);
    return true;
  },

  compressed(draft) {
    const { random } = draft;
    const told = random.pick(["gzip", "GZIP", "br", "deflate", "x", "gzip, gzip", "identity", ""]);
    if (told !== "") draft.contentEncoding = told;
    return random.oneIn(3) || told === "identity"
      ? true
      : rewriting(draft, (text) => gzipSync(text));
  },

  chunked(draft) {
    draft.chunked = true;
    return true;
  },

  unfinished(draft) {
    draft.unfinished = draft.random.pick(["chunked", "announced"]);
    return true;
  },

  /** The last of two fields with one name counts, as JSON parsers have it. */
  duplicateKeys(draft) {
    const { body, random } = draft;
    if (body.entries.length === 0) return false;
    const [name, value] = random.pick(body.entries);
    const other = random.pick([value, null, 7, "x", []]);
    if (random.oneIn(2)) body.entries.unshift([name, other]);
    else body.entries.push([name, other]);
    return true;
  },

  invalidUtf8: (draft) =>
    rewriting(draft, (text) => {
      const bytes = Buffer.from(text);
      const wrong = draft.random.pick([[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x80]]);
      const at = draft.random.below(bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(wrong), bytes.subarray(at)]);
    }),

  encoding: (draft) =>
    rewriting(draft, (text) =>
      draft.random.pick([
        () => Buffer.from(text, "utf16le"),
        () => Buffer.from(`\ufeff${text}`, "utf16le"),
        () => Buffer.from(text, "latin1"),
        () => Buffer.from(`\ufeff${text}`),
      ])(),
    ),

  brokenJson: (draft) =>
    rewriting(draft, (text) => {
      const { random } = draft;
      const at = random.below(text.length);
      return random.pick([
        () => text.slice(0, at),
        () => `${text}x`,
        () => text + text,
        () => text.replace(/\}$/, ",}"),
        () => `/* x */${text}`,
        () => text.replaceAll('"', "'"),
        () => `${text}\0`,
        () => text.replace(/"/, '"\0'),
        () => text.replace(/"/, '"\n'),
        () => text.replace(/"/, '"\\x41'),
        () => `)]}'\n${text}`,
        () => text.slice(0, at) + String.fromCharCode(random.below(128)) + text.slice(at + 1),
      ])();
    }),

  /** Other ways to write the same. */
  spelling: (draft) =>
    rewriting(draft, (text) =>
      draft.random.oneIn(2)
        ? ` \r\n\t${text}\n`
        : text.replace(/[a-zA-Z_](?=[^"\\]*":)/, (letter) => {
            const code = letter.charCodeAt(0).toString(16).padStart(4, "0");
            return `\\u${code}`;
          }),
    ),

  /** Just above and just below 8 MiB, by white space. */
  tooLarge(draft) {
    const { random } = draft;
    if (random.oneIn(2)) draft.chunked = true;
    const length = 8 * 1024 * 1024 + random.pick([0, 1, 65_536]);
    return rewriting(draft, (text) => {
      const bytes = Buffer.alloc(length, " ");
      bytes.write(text);
      return bytes;
    });
  },
} satisfies Record<string, Mutation>;
