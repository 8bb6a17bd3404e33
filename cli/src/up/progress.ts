// What `hawser up` prints while it works: on standard output for people, on standard error with --json, and
// always into log/up.log.
import { join } from "node:path";
import { openLogFile } from "@hawser/daemon/log-file.ts";
import { safeText } from "../terminal.ts";

export interface Progress {
  say: (sentence: string) => void;
  /** Runs the work, and prints the sentence if it takes more than a second, with the time if it takes long. */
  during: <Result>(sentence: string, work: Promise<Result>) => Promise<Result>;
}

const firstMs = 1_000;
const againMs = 10_000;

export function openProgress(dataDirectory: string, output: NodeJS.WritableStream): Progress {
  const toFile = openLogFile(join(dataDirectory, "log/up.log"));
  const startedAt = performance.now();
  const isTimed = process.env["HAWSER_UP_TIMES"] === "1";
  // The reader of the output, or the terminal, may be gone: the parts are stopped in order nevertheless.
  const streams: NodeJS.WritableStream[] = [output, process.stdout, process.stderr];
  for (const stream of streams) {
    stream.removeAllListeners("error");
    stream.on("error", () => {});
  }
  const say = (sentence: string) => {
    const text = safeText(sentence);
    toFile(`${new Date().toISOString()} ${text}\n`);
    const at = `[${String(Math.round(performance.now() - startedAt)).padStart(5)} ms] `;
    output.write(`${isTimed ? at : ""}${text}\n`);
  };
  return {
    say,
    async during(sentence, work) {
      const began = performance.now();
      let timer = setTimeout(function next() {
        const seconds = Math.round((performance.now() - began) / 1000);
        say(seconds < 5 ? `${sentence} …` : `${sentence} … (${seconds} s)`);
        timer = setTimeout(next, againMs);
      }, firstMs);
      try {
        return await work;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
