// Plays shell texts as commands of a real agent, refuses every request, and looks for the marks of commands
// that ran all the same.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placeIn, type Bench } from "@hawser/testkit/conformance/bench.ts";
import { never, Recording } from "@hawser/testkit/conformance/recording.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { makeShellText } from "./grammar.ts";

export interface CanaryRun {
  texts: number;
  /** Requests that were refused. */
  refused: number;
  /** Calls that the rules denied, or that the agent itself refused. */
  failed: number;
  /** Texts whose canary ran, with their numbers. */
  ran: { index: number; text: string }[];
}

export interface CanaryOptions {
  seed: string;
  from: number;
  to: number;
  /** Calls in one turn. */
  perTurn: number;
  onTurn?: (played: number) => void;
}

/** The session allows no command, and every request is refused. */
export async function playShellTexts(bench: Bench, options: CanaryOptions): Promise<CanaryRun> {
  const { seed, from, to, perTurn, onTurn } = options;
  const marks = mkdtempSync(join(tmpdir(), "hawser-canary-"));
  const textOf = (index: number) => makeShellText(seed, index, `touch ${join(marks, `m${index}`)}`);
  const policy = { allowedCommands: [], outsideWorktree: "ask" as const };
  const recording = new Recording(bench, placeIn(bench.directory, { policy }));
  let refused = 0;
  const sink: Recording["sink"] = (event) => {
    recording.sink(event);
    if (event.type !== "request") return;
    refused += 1;
    const isPermission = "permission" in event.asked;
    const answer = isPermission
      ? ({ permission: "reject" } as const)
      : ({ dismiss: true } as const);
    setImmediate(() => void recording.session.answer(event.key, answer, never));
  };
  recording.session = await bench.driver().start(recording.place, sink, never);
  try {
    for (let first = from; first < to; first += perTurn) {
      const indexes = Array.from({ length: Math.min(perTurn, to - first) }, (_, at) => first + at);
      const steps = indexes.map((index) => ({ calls: [bench.asking(textOf(index))] }));
      await recording.play([...steps, { text: "Done." }]);
      onTurn?.(first + indexes.length - from);
    }
    await recording.session.end(never);
    const failed = recording
      .updates()
      .filter(
        (update) => update.sessionUpdate === "tool_call_update" && update.status === "failed",
      );
    const ran = readdirSync(marks).map((name) => Number(name.slice(1)));
    return {
      texts: to - from,
      refused,
      failed: failed.length,
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
