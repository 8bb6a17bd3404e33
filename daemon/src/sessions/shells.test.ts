// Shell commands of callers: where they run, what the log contains, and that their text is stored nowhere.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { CommandOutcome } from "@hawser/host-protocol";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../drivers/agent-processes.ts";
import { isStartOf } from "../drivers/start-id.ts";
import {
  begin,
  makeSessionId,
  makeSmallHost,
  policy,
  script,
  type OpenHost,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";

const refusalOf = (outcome: CommandOutcome | undefined) =>
  outcome && "refusal" in outcome ? outcome.refusal : undefined;

async function startIn(host: OpenHost, directory: string): Promise<string> {
  const sessionId = makeSessionId();
  const session = { sessionId, kind: "opencode" as const, directory, title: "Shell", policy };
  await host.must("start_session", session);
  return sessionId;
}

/** Processes with the mark of this host. The scripted agent has none. */
const processesOf = (small: SmallHost) =>
  listAgentProcesses().filter(({ startId }) => isStartOf(join(small.directory, "state"), startId));

const ended = (host: OpenHost, sessionId: string, shellId: string) =>
  host.until(sessionId, "shell", (update) => update.shellId === shellId);

test("a shell command runs in the session's directory, and the log has its output", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const sessionId = await startIn(host, small.repository);
  const command = `pwd; cat a.txt; for i in 1 2; do echo "n$i"; done; echo wrong >&2; exit 3`;
  const { shellId } = await host.must("run_shell", { sessionId, command });
  const { directory } = host.journal.driven.get(sessionId)!;
  assert.match(directory, /worktrees/);
  assert.deepEqual(await ended(host, sessionId, shellId), {
    sessionUpdate: "shell",
    shellId,
    exitCode: 3,
    output: `${directory}\none\nn1\nn2\nwrong\n`,
    reason: null,
    agent: null,
  });
  await host.close();
});

test("the text of a shell command is in no file of the daemon and in no list of processes", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const sessionId = await startIn(host, small.repository);
  const mark = "planted-7f3a";
  const command = `sleep 30 # ${mark}`;
  const { shellId } = await host.must("run_shell", { sessionId, command });
  const own = () => processesOf(small);
  await until("the command", () => own().length > 0);
  for (const { pid } of own()) {
    const about = ["cmdline", "environ"].map((name) =>
      readFileSync(`/proc/${pid}/${name}`, "utf8"),
    );
    assert.doesNotMatch(about.join(), new RegExp(mark));
  }
  await host.must("abort_turn", { sessionId });
  const { exitCode, reason } = await ended(host, sessionId, shellId);
  assert.deepEqual([exitCode, reason], [null, "It was stopped."]);
  assert.deepEqual(own(), []);
  await host.must("send_prompt", { sessionId, text: script([{ text: "ok" }]) });
  await host.until(sessionId, "turn_finished");
  await host.close();
  assert.deepEqual(filesWith(small.directory, mark), []);
  assert.notDeepEqual(filesWith(small.directory, sessionId), [], "the search would find it");
});

test("the next prompt carries the command's output to the agent, once, without the command itself", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const sessionId = await startIn(host, small.repository);
  const { shellId } = await host.must("run_shell", { sessionId, command: "echo $((40 + 2))" });
  await ended(host, sessionId, shellId);
  for (const words of ["first", "second"]) {
    const { turnId } = await host.must("send_prompt", {
      sessionId,
      text: script([{ text: "ok" }], words),
    });
    await host.until(sessionId, "turn_finished", (_, entry) => entry.turnId === turnId);
  }
  const [session] = [...small.agent.sessions.values()];
  const [first, second] = session!.given;
  assert.equal(first!.context.length, 1);
  assert.match(first!.context[0]!, /exit code 0[^]*\n42\n/);
  assert.doesNotMatch(first!.context[0]!, /echo/);
  assert.deepEqual(second!.context, []);
  await host.close();
});

test("a shell command is refused while a turn runs, by the policy file, and with an unknown mode", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const sessionId = await startIn(host, small.repository);
  const payload = { sessionId, command: "echo never > never.txt" };
  await host.must("send_prompt", { sessionId, text: script([{ text: "slow", delayMs: 60_000 }]) });
  assert.equal(refusalOf(await host.ask("run_shell", payload))?.code, "turn_running");
  assert.equal(refusalOf(await host.ask("summarize_session", { sessionId }))?.code, "turn_running");
  await host.must("abort_turn", { sessionId });
  const odd = refusalOf(await host.ask("run_shell", { ...payload, agent: "nope" }));
  assert.deepEqual([odd?.code, odd?.field], ["invalid_input", "agent"]);
  const policyFile = join(small.directory, "policy");
  writeFileSync(policyFile, `${readFileSync(policyFile, "utf8")}shell = no\n`);
  const forbidden = refusalOf(await host.ask("run_shell", payload));
  assert.match(forbidden?.message ?? "", /policy file/);
  const { directory } = host.journal.driven.get(sessionId)!;
  assert.equal(existsSync(join(directory, "never.txt")), false);
  await host.close();
});

test("ending a session ends its shell commands; a command's background processes end with it", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const sessionId = await startIn(host, small.repository);
  const first = await host.must("run_shell", { sessionId, command: "sleep 61 & echo left" });
  assert.equal((await ended(host, sessionId, first.shellId)).output, "left\n");
  const own = () => processesOf(small);
  await until("no process of it", () => own().length === 0);
  await host.must("run_shell", { sessionId, command: "sleep 62" });
  await until("the command", () => own().length > 0);
  await host.must("end_session", { sessionId });
  assert.deepEqual(own(), []);
  const names = host.entries(sessionId).map(({ update }) => update.sessionUpdate);
  assert.deepEqual(names.slice(-2), ["shell", "session_status"]);
  await host.close();
});

test("the next daemon ends a shell command that a killed daemon left, and records that", async () => {
  using small = makeSmallHost();
  const first = small.open();
  const sessionId = await startIn(first, small.repository);
  const { shellId } = await first.must("run_shell", { sessionId, command: "sleep 63" });
  const own = () => processesOf(small);
  await until("the command", () => own().length > 0);
  // As if the daemon had been killed: the journal accepts nothing more, and the process goes on.
  first.journal.close();
  const second = small.open();
  const { exitCode, reason } = await ended(second, sessionId, shellId);
  assert.equal(exitCode, null);
  assert.match(reason ?? "", /stopped while it ran/);
  await until("no process of it", () => own().length === 0);
  await second.close();
  await first.sessions.close();
});

test("a command's output is kept up to a limit, and published while it is written", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const sessionId = await startIn(host, small.repository);
  host.sessions.watch(sessionId);
  const command = "echo early; sleep 0.3; head -c 5000000 /dev/zero | tr '\\0' x";
  const { shellId } = await host.must("run_shell", { sessionId, command });
  // The complete output is uploaded before the entry is sent.
  const { blobs } = host.journal;
  await until("the whole", () => blobs.pending().length > 0, 30_000);
  for (const { sha256 } of blobs.pending()) blobs.stored(sha256);
  const { reason } = await ended(host, sessionId, shellId);
  assert.match(reason ?? "", /^\d+ characters of its output were dropped\.$/);
  const [live] = host.published;
  assert.deepEqual(live, {
    itemId: shellId,
    turnId: null,
    kind: "output",
    offset: 0,
    text: "early\n",
  });
  await host.close();
});

/** Files below a directory that contain a text. */
function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}

test("a shell command whose acceptance is not on disk does not run", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const sessionId = await startIn(host, small.repository);
  const made = join(small.directory, "made");
  const wanted = { sessionId, command: `touch ${made}` };
  const take = await host.sessions.runShell(wanted, AbortSignal.timeout(10_000));
  const full = new Error("The disk is full.");
  const commit = () =>
    host.journal.atOnce(() => {
      take();
      throw full;
    });
  assert.throws(commit, full);
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(existsSync(made), false);
  const { shellId } = await host.must("run_shell", wanted);
  await ended(host, sessionId, shellId);
  assert.ok(existsSync(made));
  await host.close();
});

test("a shell command whose directory is gone ends with the reason", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const { directory } = host.journal.driven.get(sessionId)!;
  renameSync(directory, `${directory}-moved`);
  writeFileSync(directory, "a file");
  const { shellId } = await host.must("run_shell", { sessionId, command: "true" });
  const { exitCode, reason } = await ended(host, sessionId, shellId);
  assert.equal(exitCode, null);
  assert.match(reason ?? "", /^It could not be started: /);
  await host.close();
});
