// The capabilities that each kind lists are those that it has: each listed one is used on the real program,
// and each that is not listed is refused.
import assert from "node:assert/strict";
import { join } from "node:path";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import { AgentKind, type Capability, type SessionRecord } from "@hawser/contract";
import { writeClaudeCommand } from "@hawser/testkit/claude-home.ts";
import { writeSkill } from "@hawser/testkit/codex-home.ts";
import { writeSlashCommand } from "@hawser/testkit/opencode-home.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  saidIn,
  scripted,
  startSession,
  untilAsked,
  untilEnd,
  untilKindsListed,
  untilLogged,
  updatesOf,
  worktreeOf,
} from "../session-steps.ts";

useWorld({ agents: AgentKind.options, hosts: 1 });

/** The action of each capability, with a body that a session with the capability accepts. */
const actions: Partial<Record<Capability, [action: string, body: object]>> = {
  commands: ["run_command", { command: "greet" }],
  diff: ["get_session_diff", {}],
  fork: ["fork_session", { agentKind: "codex" }],
  revert: ["revert_session", { messageId: "msg_none" }],
  shell: ["run_shell", { command: "true" }],
  summarize: ["summarize_session", {}],
};

type Use = (context: Context, session: SessionRecord) => Promise<void>;

/** A turn in which the agent writes a file; returns the message that asked for it. */
async function write({ world, caller }: Context, session: SessionRecord): Promise<string> {
  const { sessionId, agentKind, worktreeBranch } = session;
  const path = join(worktreeOf(world.hosts[0]!, worktreeBranch!), "new.txt");
  const text = scripted("write", stepsOf[agentKind].write(path, "one\ntwo\n"), { text: "Done." });
  const { turnId, messageId } = await caller.send_prompt({ sessionId, text });
  assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
  const { files } = await caller.get_session_diff({ sessionId });
  assert.deepEqual(changedLines(files), [{ path: "new.txt", added: 2, removed: 0 }]);
  return messageId;
}

const uses: Partial<Record<Capability, Use>> = {
  async diff(context, session) {
    await write(context, session);
  },
  async fork({ caller }, { sessionId, agentKind }) {
    const fork = await caller.fork_session({ sessionId, agentKind });
    assert.equal(fork.forkedFrom, sessionId);
    await caller.end_session({ sessionId: fork.sessionId });
  },
  async revert(context, session) {
    const { sessionId } = session;
    const messageId = await write(context, session);
    await context.caller.revert_session({ sessionId, messageId });
    const { files } = await context.caller.get_session_diff({ sessionId });
    assert.deepEqual(files, []);
  },
  async shell({ caller }, { sessionId }) {
    await caller.run_shell({ sessionId, command: "expr 6 '*' 7" });
    await untilLogged(caller, sessionId, "shell");
    assert.equal(updatesOf(await logOf(caller, sessionId), "shell")[0]?.output, "42\n");
  },
  async questions({ caller }, { sessionId, agentKind }) {
    const question = stepsOf[agentKind].question("Which colour?", ["Red", "Blue"]);
    const text = scripted("ask", question, { text: "Thanks." });
    const { turnId } = await caller.send_prompt({ sessionId, text });
    const { requestId, type } = await untilAsked(caller, sessionId);
    assert.equal(type, "question");
    await caller.answer_question({ requestId, answers: [["Blue"]] });
    assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
  },
  async commands({ caller }, { sessionId }) {
    const words = scripted("Ada", { text: "Hello, Ada." });
    const run = { sessionId, command: "greet", arguments: words };
    const { turnId } = await caller.run_command(run);
    assert.deepEqual(saidIn(await untilEnd(caller, sessionId, turnId)), ["Hello, Ada."]);
  },
  async summarize({ caller }, { sessionId }) {
    const said = await caller.send_prompt({ sessionId, text: scripted("hi", { text: "Hello." }) });
    await untilEnd(caller, sessionId, said.turnId);
    await caller.summarize_session({ sessionId });
    await untilLogged(caller, sessionId, "session_compacted");
  },
};

const rank = (capability: Capability) => (capability === "revert" ? 0 : 1);

/** Adds the command `greet` to each kind. */
function writeCommands(home: string): void {
  writeSlashCommand(home, "greet", "Greet them: $ARGUMENTS");
  writeClaudeCommand(home, "greet", "Greet them: $ARGUMENTS");
  writeSkill(join(home, ".codex"), "greet", "Greet them: who is named.");
}

for (const kind of AgentKind.options) {
  scenario(
    `Each capability that ${kind} lists works, and each other one is refused`,
    ["record.agentKind.capabilities"],
    async (context) => {
      const { world, caller } = context;
      const host = world.hosts[0]!;
      // Written before the agents start, because they read their commands at their start.
      writeCommands(host.environment["HOME"]!);
      const { agentKinds } = await untilKindsListed(caller, host.instanceId);
      const { capabilities } = agentKinds.find((each) => each.kind === kind)!;
      // No action is about sub-agents. The scenarios about turns show what they do.
      const used = capabilities.filter((name) => name !== "subAgents");
      assert.ok(used.length >= 5, capabilities.join());
      const session = await startSession(caller, host, { agentKind: kind });
      const { sessionId } = session;
      // Going back comes first: it leaves no file behind, and other cases do.
      for (const capability of used.sort((a, b) => rank(a) - rank(b))) {
        const use = uses[capability];
        assert.ok(use, `${capability} has no case in this file: give it one`);
        await use(context, session);
      }
      for (const [name, [action, body]] of Object.entries(actions)) {
        if (capabilities.includes(name as Capability)) continue;
        const reply = await caller.try(action, { sessionId, ...body });
        assertRefused(reply, 409, "capability_missing", `${action} of ${kind}`);
      }
      const { sessions } = await caller.list_sessions({ status: "active" });
      assert.ok(sessions.some((each) => each.sessionId === sessionId));
      await caller.end_session({ sessionId });
    },
  );
}
