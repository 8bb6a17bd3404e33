// Slash commands and summaries, on the real opencode.
import assert from "node:assert/strict";
import { parseId } from "@hawser/contract";
import { writeSlashCommand } from "@hawser/testkit/opencode-home.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  slowly,
  startSession,
  untilEnd,
  untilLogged,
  updatesOf,
  untilKindsListed,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

scenario(
  "A slash command runs with its arguments as a turn; the model never sees the slash",
  ["run_command.runs", "general.accepted.return"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    // Written before the agent starts, because it reads its commands at its start.
    writeSlashCommand(host.environment["HOME"]!, "greet", "Greet them: $ARGUMENTS");
    const { sessionId, capabilities } = await startSession(caller, host);
    assert.ok(capabilities.includes("commands"));
    const { agentKinds } = await untilKindsListed(caller, host.instanceId);
    assert.ok(agentKinds[0]!.commands.includes("greet"));
    const { commands } = await caller.list_session_commands({ sessionId });
    const greet = commands.find(({ name }) => name === "greet");
    assert.deepEqual(greet, { name: "greet", description: "greet", takesArguments: true });
    const init = commands.find(({ name }) => name === "init");
    assert.match(init!.description!, /AGENTS\.md/);
    const before = world.model!.requests.length;
    const words = scripted("Ada", { text: "Hello, Ada." });
    const taken = await caller.run_command({ sessionId, command: "greet", arguments: words });
    const events = await untilEnd(caller, sessionId, taken.turnId);
    assert.equal(outcomeOf(events), "completed");
    assert.deepEqual(saidIn(events), ["Hello, Ada."]);
    const [said] = updatesOf(events, "user_message_chunk");
    assert.ok(said!.content.text.startsWith("/greet Ada"), "the log shows what was asked");
    // The model is asked once, with the text of the command; nothing is left to it to interpret.
    const asked = world.model!.requests.slice(before);
    assert.deepEqual(
      asked.map(({ prompt }) => prompt.startsWith("Greet them: Ada")),
      [true],
    );
    assert.doesNotMatch(JSON.stringify(asked[0]!.body), /\/greet|ARGUMENTS/);

    const late = scripted("Bob", { text: "Hello, Bob.", delayMs: 5_000 });
    const slow = await caller.run_command({ sessionId, command: "greet", arguments: late });
    const { live } = await caller.get_session_summary({ sessionId });
    const unfinished = (await logOf(caller, sessionId)).filter((e) => e.turnId === slow.turnId);
    assert.deepEqual([live?.status, outcomeOf(unfinished)], ["running", undefined]);
    assert.deepEqual(saidIn(await untilEnd(caller, sessionId, slow.turnId)), ["Hello, Bob."]);

    const running = await caller.send_prompt({ sessionId, text: scripted("slow", slowly()) });
    const waiting = await caller.run_command({ sessionId, command: "greet" });
    assert.deepEqual([running.queued, waiting.queued], [false, true]);
    await caller.abort_session({ sessionId });
  },
);

scenario(
  "A command that the agent does not have is refused, and so is a kind without commands",
  ["run_command.unknown", "run_command.capability"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    assertInvalid(await caller.try("run_command", { sessionId, command: "nope" }), "command");
    assertInvalid(await caller.try("run_command", { sessionId, command: "/compact" }), "command");
    const asked = world.model!.requests.length;
    await forget(world.database.url, sessionId, "commands");
    const kept = (await caller.get_session_summary({ sessionId })).capabilities;
    assert.deepEqual([kept.includes("commands"), kept.includes("shell")], [false, true]);
    assertRefused(
      await caller.try("list_session_commands", { sessionId }),
      409,
      "capability_missing",
    );
    for (const command of ["init", "greet"]) {
      const input = { sessionId, command };
      assertRefused(await caller.try("run_command", input), 409, "capability_missing");
    }
    await forget(world.database.url, sessionId, "summarize");
    assertRefused(await caller.try("summarize_session", { sessionId }), 409, "capability_missing");
    // By the end of a later turn the command's would have begun.
    await runTurn(caller, sessionId, scripted("the only turn", { text: "Here." }));
    assert.equal(updatesOf(await logOf(caller, sessionId), "turn_started").length, 1);
    assert.equal(world.model!.requests.length, asked + 1);
  },
);

scenario(
  "A summary replaces the earlier conversation",
  ["summarize_session.summarizes"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    await runTurn(caller, sessionId, scripted("the old subject", { text: "An old answer." }));
    const busy = await caller.send_prompt({ sessionId, text: scripted("slow", slowly()) });
    assertRefused(await caller.try("summarize_session", { sessionId }), 409, "turn_running");
    await caller.abort_session({ sessionId });
    await untilEnd(caller, sessionId, busy.turnId);
    const { status } = await caller.summarize_session({ sessionId });
    assert.equal(status, "in_progress");
    await untilLogged(caller, sessionId, "session_compacted");
    const waited = await caller.wait_for_session({ sessionId, timeoutSeconds: 25 });
    assert.equal(waited.turnOutcome, "completed");
    await runTurn(caller, sessionId, scripted("the new subject", { text: "A new answer." }));
    const asked = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.match(asked, /The conversation so far was about/);
    assert.doesNotMatch(asked, /An old answer\./);
  },
);

/** Stores a session as one of a kind without the capability. */
async function forget(databaseUrl: string, sessionId: string, capability: string): Promise<void> {
  await ownerSql(
    databaseUrl,
    "UPDATE sessions SET capabilities = array_remove(capabilities, $2) WHERE session_id = $1",
    [parseId("session", sessionId), capability],
  );
}
