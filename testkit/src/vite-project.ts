// A page that a real Vite serves with hot reload, for tests of previews. The server records the headers of its requests.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface ViteProject {
  /** A shell command that serves the page at this port of localhost. */
  command: (port: number) => string;
  /** Changes the text that the page shows. */
  write(words: string): void;
  /** The headers of all requests so far. */
  headers(): Record<string, string>[];
}

const program = fileURLToPath(new URL("bin/vite.js", import.meta.resolve("vite/package.json")));

const page = `<!doctype html>
<html lang="en">
  <head><title>A preview</title><link rel="icon" href="data:," /></head>
  <body><p id="words"></p><script type="module" src="/main.js"></script></body>
</html>
`;

const script = `import { words } from "./words.js";
const show = (text) => (document.querySelector("#words").textContent = text);
show(words);
import.meta.hot.accept("./words.js", (changed) => show(changed.words));
`;

const configuration = (recordFile: string) => `import { appendFileSync } from "node:fs";
const record = ({ headers }) => appendFileSync(${JSON.stringify(recordFile)}, JSON.stringify(headers) + "\\n");
const recorder = {
  name: "recorder",
  configureServer({ middlewares, httpServer }) {
    middlewares.use((request, _response, next) => { record(request); next(); });
    httpServer.on("upgrade", record);
  },
};
export default { plugins: [recorder] };
`;

/** Writes the page into a directory. `recordFile` is outside of it, so that Vite does not watch the file. */
export function writeViteProject(directory: string, recordFile: string): ViteProject {
  const put = (name: string, text: string) => writeFileSync(join(directory, name), text);
  const write = (words: string) =>
    put("words.js", `export const words = ${JSON.stringify(words)};\n`);
  put("index.html", page);
  put("main.js", script);
  put("vite.config.js", configuration(recordFile));
  write("As it was");
  writeFileSync(recordFile, "");
  return {
    command: (port) => `exec '${process.execPath}' '${program}' --port ${port} --strictPort`,
    write,
    headers: () =>
      readFileSync(recordFile, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, string>),
  };
}
