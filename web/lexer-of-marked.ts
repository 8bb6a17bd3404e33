// Keeps only the lexer of marked in the build. The package is one file, whose parsers to HTML stay in every build because
// the file sets them up as it is loaded.
import type { Plugin } from "vite";

/** From where the instance of everything is made until the end, which is the list of exports. */
const rest = /;var \w+=new \w+;function [^]*?export\{[^}]*\b(\w+) as Lexer\b[^]*$/;

export function lexerOfMarked(): Plugin {
  return {
    name: "lexer of marked",
    apply: "build",
    transform: {
      filter: { id: /\/marked\/lib\/marked\.esm\.js$/ },
      handler(code) {
        if (!rest.test(code))
          throw new Error("marked has changed. Correct web/lexer-of-marked.ts.");
        return { code: code.replace(rest, ";export{$1 as Lexer};"), map: null };
      },
    },
  };
}
