// A host that `hawser up` runs has the keys of its service and the database beside it.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { decide } from "./decide.ts";
import { protectedPaths } from "./protected-paths.ts";

const home = mkdtempSync(join(tmpdir(), "hawser-protected-"));
after(() => removeDirectory(home));

function make(...names: string[]): void {
  for (const name of names) {
    mkdirSync(join(home, name, ".."), { recursive: true });
    writeFileSync(join(home, name), "");
  }
}
make("project/master-key", "project/host/a");
for (const data of [".hawser-server", ".hawser-server.before-restore-1", "elsewhere"]) {
  make(`${data}/master-key`, `${data}/host/credentials.json`, `${data}/host/worktrees/a/b.txt`);
}

const answerTo = (path: string, directory: string, state: string) =>
  decide(
    {
      ...protectedPaths(join(home, state), home),
      allowedCommands: [],
      outsideWorktree: "ask",
      mode: "ask",
      directory: join(home, directory),
      hasSandbox: false,
      unattendedCommands: false,
    },
    { callId: "call", type: "read", paths: [join(home, path)] },
  ).answer;

test("a session in the home reads neither the keys of a service nor its socket and its backups", () => {
  for (const state of [".hawser-server/host", "elsewhere/host", ".hawser"]) {
    const closed = [
      ".hawser/credentials.json",
      ...[".hawser-server", ".hawser-server.before-restore-1"].flatMap((data) =>
        ["bootstrap-key", "run/.s.PGSQL.5432", "backups/a", "host/credentials.json"].map(
          (name) => `${data}/${name}`,
        ),
      ),
    ];
    for (const path of closed) assert.equal(answerTo(path, ".", state), "deny", path);
  }
  assert.equal(answerTo("elsewhere/master-key", ".", "elsewhere/host"), "deny");
});

test("a worktree in the data directory is open to its session", () => {
  for (const data of [".hawser-server", "elsewhere"]) {
    const directory = `${data}/host/worktrees/a`;
    assert.equal(answerTo(`${directory}/b.txt`, directory, `${data}/host`), "allow");
    assert.equal(answerTo(`${data}/master-key`, directory, `${data}/host`), "deny");
  }
});

test("what lies beside the state of another host stays open", () => {
  assert.equal(answerTo("project/master-key", "project", "project/state"), "allow");
});
