// The steps of a whole session, from the pairing of its host to the pull request. Each does one thing
// through REST or MCP, and checks the effect on the host, at GitHub and in the log. What the session's
// capabilities do not list must be refused by name.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import type { AgentKind, SessionRecord } from "@hawser/contract";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import type { Github } from "@hawser/testkit/github.ts";
import { startHost, type TestHost } from "@hawser/testkit/host.ts";
import type { ScriptedModel } from "@hawser/testkit/scripted-model.ts";
import type { Door } from "./doors.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import { until } from "./scenario.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  untilAsked,
  untilEnd,
  untilLogged,
  updatesOf,
  type Step,
} from "./session-steps.ts";

export interface Stage {
  /** Words in all its prompts, which identify its requests to the model. */
  name: string;
  door: Door;
  kind: AgentKind;
  model: ScriptedModel;
  github: Github;
  /** The repository at GitHub, as owner/name. Only this story uses it. */
  repository: string;
}

export interface Story extends Stage {
  host: TestHost;
  session: SessionRecord;
  directory: string;
}

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", stdio: "pipe" }).trim();
const as = "-c user.name=Ada -c user.email=ada@acme.example";

const fileOf = ({ directory }: Story, path: string) => readFileSync(join(directory, path), "utf8");
const has = ({ directory }: Story, path: string) => existsSync(join(directory, path));
const tipAt = ({ github, repository }: Story, branch: string) =>
  git(join(github.directory, `${repository}.git`), "rev-parse", `refs/heads/${branch}`);

/** Codex does not wait for a long command, so the command's end may follow later entries. */
async function untilCommitted(story: Story, subject: string): Promise<void> {
  const last = async () => git(story.directory, "log", "-1", "--format=%s");
  try {
    await until(`the commit "${subject}"`, 20_000, last, (found) => found === subject);
  } catch (error) {
    const log = await logOf(story.door.call, story.session.sessionId);
    const told = JSON.stringify(updatesOf(log, "tool_call_update"));
    throw new Error(`There is no commit "${subject}". The commands gave ${told}`, { cause: error });
  }
}

/** Pairs a machine that is logged in to GitHub. */
export async function pairHost(
  { door, github, kind, model }: Stage,
  baseUrl: string,
  place: string,
  token: string,
): Promise<TestHost> {
  // The stand-in for GitHub is behind a proxy; the model is not.
  const home = makeGithubHome(github, join(place, "home"), { token });
  const environment = { ...home, NO_PROXY: "127.0.0.1" };
  const agents = [kind];
  const set = { name: `a host with ${kind}`, environment, agents, modelUrl: model.url };
  const host = await startHost(door.call, baseUrl, place, set);
  const { instanceId } = host;
  const read = async () => {
    const { agentKinds } = await door.call.list_agent_kinds({ instanceId });
    return agentKinds.find((each) => each.kind === kind);
  };
  // A host is online a moment before it has reported its agents.
  const found = await until(
    `${kind} is installed`,
    60_000,
    read,
    (each) => each?.installed === true,
  );
  assert.deepEqual([found?.installed, found?.authenticated, found?.problems], [true, true, []]);
  return host;
}

export async function startInClone(stage: Stage, host: TestHost): Promise<Story> {
  const { door, kind, repository } = stage;
  const { instanceId } = host;
  const clone = { repo: repository };
  const title = `Tell of the widget (${stage.name})`;
  const session = await door.call.start_session({ instanceId, agentKind: kind, title, clone });
  assert.deepEqual([session.agentKind, session.status], [kind, "active"]);
  const story = { ...stage, host, session, directory: session.directory! };
  assert.equal(fileOf(story, "README.md"), "# A project\n");
  assert.equal(git(story.directory, "rev-parse", "HEAD"), tipAt(story, "main"));
  return story;
}

const prompt = ({ name }: Stage, words: string, ...steps: Step[]) =>
  scripted(`${words} (${name})`, ...steps);

/** The model's last input in this story, as text. */
function received({ model, name }: Story): string {
  const last = model.requests.findLast((request) => request.prompt.includes(`(${name})`));
  return JSON.stringify(last?.body);
}

/** The agent writes a file, requests permission to commit it, and asks a question. Both are answered. */
export async function workAndAnswer(story: Story): Promise<void> {
  const { door, directory, kind } = story;
  const { call } = door;
  const { sessionId } = story.session;
  const steps = stepsOf[kind];
  const command = `echo '# A widget' > README.md && git add -A && git ${as} commit -qm 'Tell of it'`;
  const { turnId } = await call.send_prompt({
    sessionId,
    text: prompt(
      story,
      "First of all",
      steps.write(join(directory, "notes.md"), "one\ntwo\n"),
      steps.command(command),
      steps.question("Which colour?", ["Red", "Blue"]),
      { text: "It is told." },
    ),
  });
  const asked = await untilAsked(call, sessionId);
  assert.deepEqual([asked.type, asked.permission?.detail], ["permission", command]);
  assert.equal(fileOf(story, "notes.md"), "one\ntwo\n");
  assert.equal(fileOf(story, "README.md"), "# A project\n", "nothing has run before the answer");
  const allowed = await call.answer_permission({ requestId: asked.requestId, answer: "once" });
  assert.equal(allowed.status, "answered");

  const question = await untilAsked(call, sessionId);
  assert.deepEqual(
    question.questions?.map((each) => each.question),
    ["Which colour?"],
  );
  await untilCommitted(story, "Tell of it");
  assert.equal(fileOf(story, "README.md"), "# A widget\n", "it has run after the answer");
  const { requestId } = question;
  const told = await call.answer_question({ requestId, answers: [["Blue"]] });
  assert.equal(told.status, "answered");

  const events = await untilEnd(call, sessionId, turnId);
  assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["It is told."]]);
  const raised = updatesOf(events, "request_raised").map((each) => each.requestId);
  assert.deepEqual(raised, [asked.requestId, requestId]);
  const settled = updatesOf(events, "request_settled");
  assert.deepEqual(
    settled.map((each) => [each.requestId, each.outcome]),
    raised.map((each) => [each, "answered"]),
  );
  assert.match(received(story), /Blue/, "the model knows the answer");
  const pending = await call.list_pending_requests({ sessionId });
  assert.deepEqual(pending.requests, []);
}

const changes = async ({ door, session: { sessionId } }: Story) => {
  const { files, live } = await door.call.get_session_diff({ sessionId });
  assert.equal(live, true);
  return files.toSorted((a, b) => a.path.localeCompare(b.path));
};

export async function lookAtChanges(story: Story): Promise<void> {
  const { door } = story;
  const { sessionId } = story.session;
  assert.deepEqual(changedLines(await changes(story)), [
    { path: "notes.md", added: 2, removed: 0 },
    { path: "README.md", added: 1, removed: 1 },
  ]);
  const { patch } = await door.call.get_session_file_diff({ sessionId, path: "README.md" });
  assert.match(patch, /^-# A project\n\+# A widget\n/m);
  const { patch: other } = await door.call.get_session_file_diff({ sessionId, path: "notes.md" });
  assert.match(other, /^\+one\n\+two\n/m);
}

/** Runs a shell command whose output the model can only know from the shell. */
export async function runInShell(story: Story): Promise<void> {
  const { door, session } = story;
  const { sessionId } = session;
  const command = "cat notes.md; echo shell-$((40 + 2)) | tee shell.txt";
  if (!session.capabilities.includes("shell")) {
    const { code } = await door.refusal("run_shell", { sessionId, command });
    assert.equal(code, "capability_missing");
    assert.ok(!has(story, "shell.txt"));
    return;
  }
  const { shellId } = await door.call.run_shell({ sessionId, command });
  await untilLogged(door.call, sessionId, "shell");
  const entries = updatesOf(await logOf(door.call, sessionId), "shell");
  assert.deepEqual(
    entries.map((each) => [each.shellId, each.exitCode, each.output]),
    [[shellId, 0, "one\ntwo\nshell-42\n"]],
  );
  assert.equal(fileOf(story, "shell.txt"), "shell-42\n");
}

/** Does more work and reverts it, if the agent can revert. */
export async function workAndGoBack(story: Story): Promise<void> {
  const { door, directory, session, kind } = story;
  const { sessionId } = session;
  const before = { changes: await changes(story), head: git(directory, "rev-parse", "HEAD") };
  const write = stepsOf[kind].write(join(directory, "second.md"), "a second thought\n");
  const { turnId, messageId } = await door.call.send_prompt({
    sessionId,
    text: prompt(story, "On second thoughts", write, { text: "Written down." }),
  });
  const events = await untilEnd(door.call, sessionId, turnId);
  assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Written down."]]);
  assert.equal(fileOf(story, "second.md"), "a second thought\n");
  if (session.capabilities.includes("shell")) assert.match(received(story), /shell-42/);

  if (!session.capabilities.includes("revert")) {
    const { code } = await door.refusal("revert_session", { sessionId, messageId });
    assert.equal(code, "capability_missing");
    assert.ok(has(story, "second.md"), "nothing was taken back");
    return;
  }
  const reverted = await door.call.revert_session({ sessionId, messageId });
  assert.deepEqual(reverted, { sessionId, messageId });
  assert.ok(!has(story, "second.md"));
  assert.deepEqual(await changes(story), before.changes);
  assert.equal(git(directory, "rev-parse", "HEAD"), before.head);
  const [entry] = updatesOf(await logOf(door.call, sessionId), "session_reverted");
  assert.equal(entry?.messageId, messageId);
}

/** The agent no longer knows the reverted work. Its work from here on will be pushed. */
export async function workOn(story: Story): Promise<void> {
  const { door, directory, session, kind } = story;
  const { sessionId } = session;
  const steps = stepsOf[kind];
  const command = `git add third.md && git ${as} commit -qm 'Third time'`;
  const { turnId } = await door.call.send_prompt({
    sessionId,
    text: prompt(
      story,
      "A third time",
      steps.write(join(directory, "third.md"), "lucky\n"),
      steps.command(command),
      { text: "Done at last." },
    ),
  });
  const { requestId } = await untilAsked(door.call, sessionId);
  await door.call.answer_permission({ requestId, answer: "once" });
  const events = await untilEnd(door.call, sessionId, turnId);
  assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Done at last."]]);
  await untilCommitted(story, "Third time");
  const all = received(story);
  assert.match(all, /First of all/);
  const isForgotten = session.capabilities.includes("revert");
  assert.equal(/On second thoughts|a second thought/.test(all), !isForgotten);
}

export async function push({ door, session: { sessionId } }: Story) {
  return door.call.push_session({ sessionId });
}

/** Checks the result of a push at GitHub: this commit, and one pull request for it. */
export function assertPushed(story: Story, pushed: Awaited<ReturnType<typeof push>>): void {
  const { directory, github, repository, session, kind } = story;
  assert.equal(tipAt(story, pushed.branch), git(directory, "rev-parse", "HEAD"));
  const open = git(directory, "status", "--porcelain").split("\n").filter(Boolean);
  assert.equal(pushed.uncommittedChanges, open.length);
  const made = github.pullRequests.filter((each) => each.repository === repository);
  assert.deepEqual(
    made.map(({ title, head, base, url }) => ({ title, head, base, url })),
    [
      {
        title: session.title,
        head: pushed.branch,
        base: "main",
        url: `https://github.com/${repository}/pull/${made[0]?.number}`,
      },
    ],
  );
  assert.deepEqual([pushed.pullRequestUrl, pushed.pullRequestError], [made[0]!.url, null]);
  assert.ok(made[0]!.body.includes(kind));
}

export async function end(story: Story): Promise<void> {
  const { door, session, host, directory } = story;
  const { sessionId } = session;
  assert.equal((await door.call.end_session({ sessionId })).status, "ended");
  assert.ok(!existsSync(directory), "its clone is gone");
  const { code } = await door.refusal("send_prompt", { sessionId, text: "Are you there?" });
  assert.equal(code, "session_ended");
  const kept = await door.call.list_parked_sessions({ instanceId: host.instanceId });
  assert.deepEqual(
    kept.parkedSessions.map((each) => [each.sessionId, each.title]),
    [[sessionId, session.title]],
  );
}

/** Restores the ended session as a new session in the same directory, with all its files. */
export async function restore(story: Story): Promise<Story> {
  const { door, session } = story;
  const again = await door.call.restore_session({ sessionId: session.sessionId });
  assert.notEqual(again.sessionId, session.sessionId);
  assert.deepEqual(
    [again.directory, again.title, again.agentKind, again.status],
    [story.directory, session.title, session.agentKind, "active"],
  );
  const restored = { ...story, session: again };
  assert.equal(fileOf(restored, "third.md"), "lucky\n");
  const said = prompt(restored, "Back again", { text: "Here I am." });
  const events = await runTurn(door.call, again.sessionId, said);
  assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Here I am."]]);
  return restored;
}
