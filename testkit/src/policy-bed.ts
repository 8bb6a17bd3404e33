// Rules of a session for tests of the policy, with a tree that has links which lead out of it or nowhere.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { Call, Decision } from "@hawser/daemon/policy/call.ts";
import { decide, type Rules } from "@hawser/daemon/policy/decide.ts";

export type Answer = Decision["answer"];
/** A call without its id. */
export type Wanted = {
  [Type in Call["type"]]: Omit<Extract<Call, { type: Type }>, "callId">;
}[Call["type"]];

export function openPolicyBed() {
  const folder = mkdtempSync(join(tmpdir(), "hawser-decide-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const state = join(folder, "state");
  const directory = join(state, "worktrees", "tree");
  mkdirSync(join(directory, ".git"), { recursive: true });
  symlinkSync(join(folder, "not-there-yet"), join(directory, "dangling"));
  symlinkSync(folder, join(directory, "up"));
  symlinkSync("loop", join(directory, "loop"));
  const rules: Rules = {
    allowedCommands: ["echo *", "git status", "npm test -- a b", "timeout 5 *"],
    outsideWorktree: "ask",
    mode: "ask",
    directory,
    hasSandbox: false,
    unattendedCommands: false,
    temporaryDirectory: join(folder, "state/tmp"),
    ownDirectories: [join(folder, ".agent")],
    secrets: [state, join(folder, ".ssh")],
  };
  return {
    folder,
    state,
    directory,
    rules,
    answerTo: (wanted: Wanted, more: Partial<Rules> = {}): Answer =>
      decide({ ...rules, ...more }, { callId: "call", ...wanted }).answer,
    run: (command: string, cwd: string | undefined = directory): Wanted => ({
      type: "execute",
      command,
      cwd,
    }),
  };
}
