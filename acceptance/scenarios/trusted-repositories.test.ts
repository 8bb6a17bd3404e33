// Repositories that an organization trusts: the trusted parts of their own configuration are used, in
// sessions that start later, and nothing else of it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeClaudeHome } from "@hawser/testkit/claude-home.ts";
import { git, useGithub } from "../clone-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import { logOf, runTurn, scripted, startSession, updatesOf } from "../session-steps.ts";

useWorld({ agents: ["claude_code"], nats: 1 });

const origin = "github.com/acme/widget";
const hosting = useGithub("gho_trusted", [{ name: "acme/widget" }]);

/** Pushes a hook and a skill to the default branch. Returns the file that the hook makes. */
function configureOrigin(): string {
  const work = join(hosting.place, "work");
  const mark = join(hosting.place, "mark");
  execFileSync("git", ["clone", "-q", join(hosting.github().directory, "acme/widget.git"), work]);
  const hook = { hooks: [{ type: "command", command: `touch ${mark}` }] };
  const files = {
    ".claude/settings.json": JSON.stringify({
      env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" },
      hooks: { UserPromptSubmit: [hook] },
    }),
    ".claude/skills/tidy/SKILL.md": "---\ndescription: SKILL OF THE REPOSITORY\n---\nTidy.\n",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  }
  git(work, "add", "-A");
  git(work, "-c", "user.name=e", "-c", "user.email=e@x", "commit", "-qm", "configured");
  git(work, "push", "-q", "origin", "HEAD");
  return mark;
}

scenario(
  "An organization trusts a repository's configuration by part, and nothing of it is used before",
  ["start_session.trust"],
  async (context) => {
    const { world, caller } = context;
    const mark = configureOrigin();
    const host = await hosting.addHost(context);
    writeClaudeHome(host.environment["HOME"]!, world.model!.url);
    const directory = join(host.root, "configured");
    execFileSync("git", ["clone", "-q", join(hosting.place, "work"), directory]);
    git(directory, "remote", "set-url", "origin", `https://${origin}.git`);
    const start = async () => {
      const session = await startSession(caller, host, { agentKind: "claude_code", directory });
      await runTurn(caller, session.sessionId, scripted("go", { text: "Done." }));
      const sent = JSON.stringify(world.model!.requests.at(-1)!.body);
      const log = updatesOf(await logOf(caller, session.sessionId), "config_trusted");
      return { session, hasSkill: /SKILL OF THE REPOSITORY/.test(sent), log };
    };

    assert.deepEqual((await caller.get_settings({})).trustedRepositories, []);
    const before = await start();
    assert.deepEqual([before.session.trustedParts, before.hasSkill, before.log], [[], false, []]);
    assert.ok(!existsSync(mark));

    const skills = [{ origin, parts: ["skills" as const] }];
    const changed = await caller.update_settings({ trustedRepositories: skills });
    assert.deepEqual(changed.trustedRepositories, skills);
    const second = await start();
    assert.deepEqual([second.session.trustedParts, second.hasSkill], [["skills"], true]);
    assert.deepEqual(
      second.log.map(({ parts, paths, reason }) => ({ parts, paths, reason })),
      [{ parts: ["skills"], paths: [".claude/skills/tidy/SKILL.md"], reason: null }],
    );
    assert.ok(!existsSync(mark), "hooks are another part");

    await caller.update_settings({
      trustedRepositories: [{ origin, parts: ["skills", "hooks"] }],
    });
    const third = await start();
    assert.deepEqual(third.session.trustedParts, ["skills", "hooks"]);
    assert.ok(existsSync(mark));
    const { sessionId } = third.session;
    const shown = await caller.get_session_summary({ sessionId });
    assert.deepEqual(shown.trustedParts, ["skills", "hooks"]);

    // Other settings leave the list as it is; a list that is sent replaces it.
    await caller.update_settings({ defaultMode: "ask" });
    assert.equal((await caller.get_settings({})).trustedRepositories.length, 1);
    await caller.update_settings({ trustedRepositories: [] });
    assert.deepEqual((await caller.get_settings({})).trustedRepositories, []);
  },
);

scenario("An origin must be a host and a path, and is listed once", [], async ({ caller }) => {
  for (const wrong of [
    "https://github.com/a/b",
    "github.com",
    "github.com/a/b.git",
    "*/a",
    "a/..",
  ]) {
    const reply = await caller.try("update_settings", {
      trustedRepositories: [{ origin: wrong, parts: ["skills"] }],
    });
    assertRefused(reply, 400, "invalid_input");
  }
  const skills = { origin, parts: ["skills" as const] };
  for (const trustedRepositories of [[{ origin, parts: [] }], [skills, skills]]) {
    assertRefused(
      await caller.try("update_settings", { trustedRepositories }),
      400,
      "invalid_input",
    );
  }
});
