// Gives each module of the build the words that it shows, so that a browser loads them with the page that shows them and
// not all with the first one. What a module shows are the ids of words that are written in it: whole, or as a template
// such as `panel.${name}`. The compiler refuses ids that are put together in another way.
import type { Plugin } from "vite";
import { messages } from "./src/words/en.gen.ts";

const catalogue = /\/src\/words\/en\.gen\.ts$/;
const ids = Object.keys(messages) as (keyof typeof messages)[];

export function wordsByModule(): Plugin {
  const unused = new Set<string>(ids);
  let catalogueId = "";
  return {
    name: "words by module",
    apply: "build",
    // After types and JSX have become plain code.
    enforce: "post",
    transform: {
      filter: { id: /\/web\/src\/.*\.tsx?$/ },
      handler(code, id) {
        if (catalogue.test(id)) {
          catalogueId = id;
          return { code: "export const messages = {};", map: null };
        }
        const shown = idsIn(this.parse(code));
        if (shown.length === 0) return undefined;
        for (const each of shown) unused.delete(each);
        const own = Object.fromEntries(shown.map((each) => [each, messages[each]]));
        const path = JSON.stringify(id.replace(/\/src\/.*/, "/src/words/en.gen.ts"));
        return {
          code: `import { messages as $words } from ${path};\nObject.assign($words, ${JSON.stringify(own)});\n${code}`,
          map: null,
        };
      },
    },
    buildEnd(error) {
      if (error || catalogueId === "" || unused.size === 0) return;
      this.warn(`No page shows the words ${[...unused].join(", ")}. Remove them from en.po.`);
    },
  };
}

/** Walks the syntax tree of a module. */
function idsIn(node: unknown): (keyof typeof messages)[] {
  const found = new Set<string>();
  const walk = (each: unknown): void => {
    if (typeof each !== "object" || each === null) return;
    if (Array.isArray(each)) {
      for (const child of each) walk(child);
      return;
    }
    const { type, value, quasis } = each as {
      type?: string;
      value?: unknown;
      quasis?: { value: { raw: string } }[];
    };
    if (type === "Literal" && typeof value === "string" && Object.hasOwn(messages, value))
      found.add(value);
    if (type === "TemplateLiteral" && quasis) {
      const texts = quasis.map(({ value: { raw } }) => raw);
      for (const id of ids) if (fits(texts, id)) found.add(id);
    }
    for (const child of Object.values(each)) walk(child);
  };
  walk(node);
  return ids.filter((id) => found.has(id));
}

/** Whether an id is the texts with something between them. A template without a text before its first value fits none. */
function fits([first = "", ...texts]: string[], id: string): boolean {
  if (!/^[a-z_]+\./.test(first) || !id.startsWith(first)) return false;
  const last = texts.at(-1) ?? "";
  return id.endsWith(last);
}
