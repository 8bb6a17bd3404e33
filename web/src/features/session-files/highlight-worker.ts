// Runs beside the page: highlights pieces of code, so that a large file never makes the page wait. Its engine turns
// grammars into the browser's own regular expressions; it needs no WebAssembly, which the content security policy refuses.
import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";
import { codeToTokensBase, createShikiPrimitive, type ShikiPrimitive } from "@shikijs/primitive";
import { classOf, codeTheme } from "../../design/code-theme.ts";
import { languageOf, loadLanguage, type LanguageName } from "./languages.ts";

export interface HighlightTask {
  id: number;
  path: string;
  code: string;
}

/** For each line lengths and classes in turn; undefined for a language that is not known. */
export interface HighlightAnswer {
  id: number;
  lines: number[][] | undefined;
}

/** A longer line costs more than its colours are worth. */
const longestLine = 1_000;
/** The first lines of a language take long, because its expressions are compiled with them. */
const mostMsPerLine = 2_000;

let shiki: ShikiPrimitive | undefined;
const loaded = new Set<LanguageName>();

async function highlight({ path, code }: HighlightTask): Promise<number[][] | undefined> {
  const language = languageOf(path);
  if (language === undefined) return undefined;
  shiki ??= createShikiPrimitive({
    themes: [codeTheme],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  if (!loaded.has(language)) {
    shiki.loadLanguageSync(await loadLanguage(language));
    loaded.add(language);
  }
  const lines = codeToTokensBase(shiki, code, {
    lang: language,
    theme: codeTheme.name,
    tokenizeMaxLineLength: longestLine,
    tokenizeTimeLimit: mostMsPerLine,
  });
  return lines.map((tokens) =>
    tokens.flatMap(({ content, color }) => [content.length, classOf(color)]),
  );
}

globalThis.addEventListener("message", ({ data }: MessageEvent<HighlightTask>) => {
  void highlight(data)
    .catch(() => undefined)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has one page to answer
    .then((lines) => globalThis.postMessage({ id: data.id, lines } satisfies HighlightAnswer));
});
