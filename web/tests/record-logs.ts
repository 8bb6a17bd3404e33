// Records the stream of a session of each kind of agent: node web/tests/record-logs.ts [kind…]. The agents are real, the
// model is scripted. The recordings are the input of the tests of rows.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import type { AgentKind } from "@hawser/contract";
import type { TestHost } from "@hawser/testkit/host.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

interface Call {
  tool: string;
  input: Record<string, unknown>;
}

/** What the scripted model calls so that an agent of this kind does these things. */
interface Tools {
  command(command: string): Call;
  read(path: string): Call;
  write(path: string, text: string): Call;
  question(question: string, labels: string[]): Call;
  plan?(contents: string[], done: number): Call;
  subAgent(title: string, steps: object[]): Call;
}

const options = (labels: string[]) => labels.map((label) => ({ label, description: label }));
const help = (steps: object[]) => `Help me. @@${JSON.stringify(steps)}`;
const stateOf = (at: number, done: number) =>
  at < done ? "completed" : at === done ? "in_progress" : "pending";

const toolsOf: Record<AgentKind, Tools> = {
  opencode: {
    command: (command) => ({ tool: "bash", input: { command, description: "a step" } }),
    read: (filePath) => ({ tool: "read", input: { filePath } }),
    write: (filePath, content) => ({ tool: "write", input: { filePath, content } }),
    question: (question, labels) => ({
      tool: "question",
      input: { questions: [{ question, header: "Asked", options: options(labels) }] },
    }),
    plan: (contents, done) => ({
      tool: "todowrite",
      input: {
        todos: contents.map((content, at) => ({
          content,
          status: stateOf(at, done),
          priority: "high",
        })),
      },
    }),
    subAgent: (description, steps) => ({
      tool: "task",
      input: { description, subagent_type: "general", prompt: help(steps) },
    }),
  },
  claude_code: {
    command: (command) => ({ tool: "Bash", input: { command, description: "a step" } }),
    read: (file_path) => ({ tool: "Read", input: { file_path } }),
    write: (file_path, content) => ({ tool: "Write", input: { file_path, content } }),
    question: (question, labels) => ({
      tool: "AskUserQuestion",
      input: {
        questions: [{ question, header: "Asked", multiSelect: false, options: options(labels) }],
      },
    }),
    plan: (contents, done) => ({
      tool: "TodoWrite",
      input: {
        todos: contents.map((content, at) => ({
          content,
          status: stateOf(at, done),
          activeForm: content,
        })),
      },
    }),
    subAgent: (description, steps) => ({
      tool: "Task",
      input: { description, subagent_type: "general-purpose", prompt: help(steps) },
    }),
  },
  codex: {
    command: (cmd) => ({ tool: "exec_command", input: { cmd } }),
    read: (path) => ({ tool: "exec_command", input: { cmd: `cat ${path}` } }),
    write: (path, text) => ({
      tool: "apply_patch",
      input: {
        input: `*** Begin Patch\n*** Add File: ${path}\n${text
          .trimEnd()
          .split("\n")
          .map((line) => `+${line}`)
          .join("\n")}\n*** End Patch`,
      },
    }),
    question: (question, labels) => ({
      tool: "request_user_input",
      input: { questions: [{ id: "asked", header: "Asked", question, options: options(labels) }] },
    }),
    subAgent: (_title, steps) => ({
      tool: "multi_agent_v1/spawn_agent",
      input: { message: help(steps) },
    }),
  },
};

const patienceMs = 90_000;

/** Waits for a value that is neither undefined nor false. */
async function until<T>(what: string, find: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await find();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`Waited in vain for: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function record(world: World, host: TestHost, kind: AgentKind): Promise<void> {
  const { caller } = world;
  const tools = toolsOf[kind];
  const { instanceId } = host;
  const session = await until(`${kind} starts`, () =>
    caller
      .start_session({ instanceId, directory: host.repository, agentKind: kind })
      .catch(() => undefined),
  );
  const { sessionId } = session;
  const frames: { event: string; data: unknown }[] = [];
  const ended = new AbortController();
  const reading = readFrames(world, sessionId, ended.signal, (event, data) =>
    frames.push({ event, data }),
  );
  const isFinished = (turnId: string) => () =>
    frames.some(({ event, data }) => {
      const entry = data as { turnId?: string; update?: { sessionUpdate: string } };
      return (
        event === "entry" &&
        entry.turnId === turnId &&
        ["turn_finished", "prompt_dropped"].includes(entry.update!.sessionUpdate)
      );
    });
  const send = (words: string, ...steps: object[]) =>
    caller.send_prompt({ sessionId, text: `${words} @@${JSON.stringify(steps)}` });
  /** Answers whatever the turn asks until it has ended: how much it asks differs by kind. */
  const answerAll = (turnId: string, permission: "once" | "reject" = "once") =>
    until(`the turn of ${kind} ends`, async () => {
      const { requests } = await caller.list_pending_requests({ sessionId });
      for (const { requestId, questions } of requests) {
        const answers = questions?.map(({ options }) => [options[0]!.label]);
        // A request can be settled meanwhile.
        if (answers) await caller.try("answer_question", { requestId, answers });
        else await caller.try("answer_permission", { requestId, answer: permission });
      }
      return isFinished(turnId)();
    });

  const first = await send(
    "Look around, then write a file.",
    {
      reasoning: "I should read first.",
      text: "I will look around.",
      calls: [tools.read("README.md"), tools.read("missing.txt")],
    },
    { calls: [tools.command("echo one && echo two"), tools.command("ls -la")] },
    ...(tools.plan ? [{ calls: [tools.plan(["Read the files", "Write notes", "Test"], 1)] }] : []),
    {
      calls: [
        tools.write(
          kind === "codex"
            ? "notes.md"
            : join(host.stateDirectory, "worktrees", sessionId, "notes.md"),
          "# Notes\n\nOne line.\n",
        ),
      ],
    },
    { calls: [tools.command("exit 3")] },
    ...(tools.plan ? [{ calls: [tools.plan(["Read the files", "Write notes", "Test"], 3)] }] : []),
    {
      text: "Done. **Two** commands ran:\n\n```sh\necho one\n```\n\n- first\n- second <b>not html</b>\n",
      paceMs: 20,
    },
  );
  await answerAll(first.turnId);
  const rejected = await send(
    "Run something.",
    { calls: [tools.command("touch rejected")] },
    { text: "Then not." },
  );
  await answerAll(rejected.turnId, "reject");
  const asked = await send(
    "Ask me.",
    { calls: [tools.question("Which database?", ["PostgreSQL", "SQLite"])] },
    { text: "As you wish." },
  );
  await answerAll(asked.turnId);
  const delegated = await send(
    "Delegate.",
    {
      text: "Two of them.",
      calls: [
        tools.subAgent("Find where it goes", [
          { calls: [tools.command("echo below")] },
          { text: "Below." },
        ]),
      ],
    },
    { text: "They are done." },
  );
  await answerAll(delegated.turnId);
  const { shellId } = await caller.run_shell({
    sessionId,
    command: "for i in 1 2 3; do echo line $i; done; sleep 1",
  });
  await until("the shell command ends", () =>
    frames.some(({ data }) => {
      const { update } = data as { update?: { sessionUpdate: string; shellId?: string } };
      return update?.sessionUpdate === "shell" && update.shellId === shellId;
    }),
  );
  const long = await send("Take your time.", {
    text: "one two three four five six seven eight",
    paceMs: 1_500,
  });
  const waiting = await send("And then this.", { text: "Never." });
  await until("text streams", () =>
    frames.some(
      ({ event, data }) => event === "live" && (data as { turnId: string }).turnId === long.turnId,
    ),
  );
  await caller.abort_session({ sessionId });
  await until(
    "both turns are over",
    () => isFinished(long.turnId)() && isFinished(waiting.turnId)(),
  );
  await caller.end_session({ sessionId });
  await until("the session ends", () =>
    frames.some(
      ({ event, data }) => event === "record" && (data as { status: string }).status === "ended",
    ),
  );
  ended.abort();
  await reading;
  const place = join(import.meta.dirname, `../src/features/session-log/recordings/${kind}.jsonl`);
  const lines = frames.map((frame) => JSON.stringify(frame)).join("\n");
  // No path of the machine that recorded.
  const text = lines
    .replaceAll(dirname(dirname(host.root)), "/srv")
    .replaceAll(/\/tmp\/hawser-world-\w+/g, "/srv");
  writeFileSync(place, `${text}\n`);
  console.log(`${kind}: ${frames.length} frames`);
}

async function readFrames(
  world: World,
  sessionId: string,
  signal: AbortSignal,
  onFrame: (event: string, data: unknown) => void,
): Promise<void> {
  const { owner } = world.organizations[0].keys;
  const headers = { authorization: `Bearer ${owner}` };
  const url = `${world.baseUrl}/api/sessions/${sessionId}/events`;
  const response = await fetch(url, { headers, signal });
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const piece of response.body!) {
      text += decoder.decode(piece, { stream: true });
      const whole = text.split("\n\n");
      text = whole.pop()!;
      for (const frame of whole) {
        const event = /^event: (.*)$/m.exec(frame)?.[1];
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (event && data) onFrame(event, JSON.parse(data));
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const { positionals } = parseArgs({ allowPositionals: true });
const kinds = (positionals.length > 0 ? positionals : Object.keys(toolsOf)) as AgentKind[];
await using world = await startWorld({ agents: kinds, hosts: 1 });
for (const kind of kinds) await record(world, world.hosts[0]!, kind);
