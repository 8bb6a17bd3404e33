// Plays shell texts as commands of a real agent, refuses every request, and looks for the marks of commands
// that ran all the same.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench } from "@hawser/testkit/conformance/bench.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { findUnasked } from "@hawser/testkit/shell-texts.ts";
import { makeShellText } from "./grammar.ts";

export interface CanaryRun {
  texts: number;
  /** Texts that nobody was asked about: the agent or the daemon refused them without a request. */
  unasked: number;
  /** Texts whose canary ran, with their numbers. */
  ran: { index: number; text: string }[];
}

/** The texts from one number to another. The session allows no command, and every request is refused. */
export async function playShellTexts(
  bench: Bench,
  seed: string,
  from: number,
  to: number,
): Promise<CanaryRun> {
  const marks = mkdtempSync(join(tmpdir(), "hawser-canary-"));
  const textOf = (index: number) => makeShellText(seed, index, `touch ${join(marks, `m${index}`)}`);
  try {
    const texts = Array.from({ length: to - from }, (_, at) => textOf(from + at));
    const unasked = await findUnasked(bench, texts);
    const ran = readdirSync(marks).map((name) => Number(name.slice(1)));
    return {
      texts: texts.length,
      unasked: unasked.length,
      ran: ran.map((index) => ({ index, text: textOf(index) })),
    };
  } finally {
    removeDirectory(marks);
  }
}

/** How many of the texts run their canary in a plain bash: the texts are worth something only if most do. */
export function countLiveTexts(seed: string, to: number): number {
  const folder = mkdtempSync(join(tmpdir(), "hawser-canary-"));
  execFileSync("git", ["-C", folder, "init", "--quiet"]);
  try {
    let live = 0;
    for (let index = 0; index < to; index++) {
      const mark = join(folder, `m${index}`);
      const text = makeShellText(seed, index, `touch ${mark}`);
      const options = { cwd: folder, timeout: 5_000, stdio: "ignore" } as const;
      spawnSync("/bin/bash", ["-c", text], { ...options, env: { PATH: process.env["PATH"] } });
      if (existsSync(mark)) live += 1;
    }
    return live;
  } finally {
    removeDirectory(folder);
  }
}
