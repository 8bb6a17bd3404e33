// The guided session of the demo: each step says what it shows, prints the command, and runs it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { CommandFailed } from "../command-failed.ts";
import type { Kind } from "../install-agent.ts";
import { pick } from "../pick.ts";
import { callOf } from "../session-lines.ts";
import { safeJson } from "../terminal.ts";
import type { Stage } from "./stage.ts";

interface GuideOptions {
  isAsking: boolean;
  signal: AbortSignal;
}

/** How long the entries of a session may take to be shown. */
const shownWithinMs = 60_000;

/** The tool with which each agent runs a shell command. */
const shellTool: Record<Kind, (command: string) => object> = {
  opencode: (command) => ({ tool: "bash", input: { command, description: "write a file" } }),
  claude_code: (command) => ({ tool: "Bash", input: { command, description: "write a file" } }),
  codex: (command) => ({ tool: "exec_command", input: { cmd: command } }),
};

export async function guide(stage: Stage, { isAsking, signal }: GuideOptions): Promise<void> {
  const { client, instanceId, project, kinds } = stage;
  const steps = createSteps(stage, isAsking, signal);
  steps.say(
    `Hawser runs at ${stage.url}. Its host has ${kinds.join(", ")}. A scripted model answers them: it says what a prompt contains after "@@".`,
  );
  await steps.call("This machine is a host of the service.", "search_instances", { limit: 5 });
  for (const kind of kinds) {
    const { sessionId } = (await steps.call(
      `Start a session with ${kind}. It works in a branch of its own.`,
      "start_session",
      { instanceId, directory: project, agentKind: kind },
      "sessionId",
    )) as { sessionId: string };
    const script = [
      { calls: [shellTool[kind](`echo hello from ${kind} > hello.txt`)] },
      { text: "I have written hello.txt." },
    ];
    const text = `Write a file. @@${JSON.stringify(script)}`;
    await steps.call("Send it a prompt.", "send_prompt", { sessionId, text }, "turnId");
    await steps.watch("Watch what the agent does.", sessionId);
    const { requests } = await client.list_pending_requests({ sessionId });
    for (const { requestId } of requests) {
      const answer = { requestId, answer: "once" } as const;
      await steps.call("The agent asks before it acts. Allow it.", "answer_permission", answer);
      await steps.watch("Watch it go on.", sessionId);
    }
    await steps.call("What the session changed:", "get_session_diff", { sessionId });
    await steps.call(
      "End the session. Its work is kept for 14 days.",
      "end_session",
      { sessionId },
      "status",
    );
  }
  steps.say(
    `That was the demo. "hawser up" starts the same with your own agents and projects, and keeps it.`,
  );
  if (!isAsking) return;
  steps.say(
    `Until you press Enter, you can try more in another terminal:\n  export HAWSER_URL=${stage.url}\n  export HAWSER_KEY=${stage.key}\n  hawser call --list`,
  );
  await steps.enter("Press Enter to end the demo.");
}

function createSteps({ url, key, client }: Stage, isAsking: boolean, signal: AbortSignal) {
  const say = (line: string) => void process.stdout.write(`\n${line}\n`);
  const environment = { ...process.env, HAWSER_URL: url, HAWSER_KEY: key };

  async function enter(question: string): Promise<void> {
    signal.throwIfAborted();
    if (!isAsking) return;
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    // Ctrl-C in a question reaches readline, not the process.
    lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
    try {
      await lines.question(`${question} `, { signal });
    } finally {
      lines.close();
    }
  }

  async function show(sentence: string, command: string): Promise<void> {
    say(sentence);
    process.stdout.write(`  $ ${command}\n`);
    await enter("Press Enter to run it.");
  }

  const start = (args: string[]) =>
    spawn(process.execPath, [process.argv[1]!, ...args], {
      env: environment,
      stdio: ["ignore", "pipe", "inherit"],
      signal,
    });

  return {
    say,
    enter,

    /** Runs the command as the user would, prints its answer or one field, and returns the answer. */
    async call(sentence: string, action: string, body: object, field?: string): Promise<unknown> {
      await show(sentence, `${callOf(action, body)}${field ? ` --pick ${field}` : ""}`);
      const child = start(["call", action, JSON.stringify(body)]);
      const [answer, [code]] = await Promise.all([
        text(child.stdout),
        once(child, "close") as Promise<[number | null]>,
      ]);
      if (code !== 0) throw new CommandFailed(`The demo ends here, because ${action} failed.`);
      const parsed: unknown = JSON.parse(answer);
      const shown = field === undefined ? parsed : pick(parsed, field);
      process.stdout.write(`${typeof shown === "string" ? shown : safeJson(shown, true)}\n`);
      return parsed;
    },

    /** Shows the session until nothing runs in it, or it waits for an answer. */
    async watch(sentence: string, sessionId: string): Promise<void> {
      await show(sentence, `hawser watch ${sessionId}`);
      const child = spawn(process.execPath, [process.argv[1]!, "watch", sessionId], {
        env: environment,
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        signal,
      });
      const ended = once(child, "close");
      let shownSeq = 0;
      child.on("message", (seq) => (shownSeq = Number(seq)));
      for (;;) {
        const { timedOut } = await client.wait_for_session({ sessionId }, { signal });
        if (!timedOut) break;
      }
      const { lastSeq } = await client.list_session_events(
        { sessionId, tail: true, limit: 1 },
        { signal },
      );
      // On a busy machine the command takes long to start.
      const deadline = Date.now() + shownWithinMs;
      const waits = () => shownSeq < lastSeq && child.exitCode === null && Date.now() < deadline;
      while (waits()) await pause(50, undefined, { signal });
      child.kill("SIGTERM");
      await ended;
    },
  };
}
