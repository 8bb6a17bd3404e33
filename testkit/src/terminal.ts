// A terminal for programs that draw on it, made by tmux: a test types and reads the screen.
import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeDirectory } from "./remove-directory.ts";

export interface Terminal extends Disposable {
  screen(): string;
  /** Waits until the screen shows the text. */
  untilShown(text: string): Promise<void>;
  type(text: string): void;
  /** Presses a key, by tmux's name for it. */
  press(key: string): void;
}

const patienceMs = 60_000;

/** The environment of the program is exactly the given one, with a home of its own. */
export function openTerminal(
  command: readonly string[],
  environment: Record<string, string>,
): Terminal {
  const folder = mkdtempSync(join(tmpdir(), "hawser-terminal-"));
  const socket = join(folder, "tmux");
  const tmux = (...args: string[]) =>
    execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      timeout: 10_000,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: folder,
        TERM: "xterm-256color",
        LANG: "C.UTF-8",
        ...environment,
      },
    });
  // The screen stays when the program ends, so that its last words can be read.
  const keepScreen = ["set-option", "-g", "remain-on-exit", "on"];
  const start = ["new-session", "-d", "-x", "160", "-y", "50", "-s", "one", "--", ...command];
  tmux("start-server", ";", ...keepScreen, ";", ...start);
  const screen = () => tmux("capture-pane", "-p", "-t", "one");
  return {
    screen,
    async untilShown(text) {
      const deadline = performance.now() + patienceMs;
      while (!screen().includes(text)) {
        if (performance.now() > deadline) {
          throw new Error(`The terminal does not show "${text}". It shows:\n${screen()}`);
        }
        await sleep(250);
      }
    },
    type: (text) => void tmux("send-keys", "-t", "one", "-l", text),
    press: (key) => void tmux("send-keys", "-t", "one", key),
    [Symbol.dispose]() {
      tmux("kill-server");
      removeDirectory(folder);
    },
  };
}
