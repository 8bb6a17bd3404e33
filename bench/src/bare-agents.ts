// The bare agents: each real program, prompted over its own protocol, as close as possible to what our
// drivers do. The model answers at once on both sides.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { AgentKind } from "@hawser/contract";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { writeClaudeHome } from "@hawser/testkit/claude-home.ts";
import { writeCodexHome } from "@hawser/testkit/codex-home.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { writeOpencodeHome } from "@hawser/testkit/opencode-home.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { until } from "@hawser/testkit/until.ts";

export interface BareAgent extends AsyncDisposable {
  /** Opens a new session. */
  open(): Promise<BareSession>;
  pids(): number[];
}

export interface BareSession {
  /** Milliseconds from the prompt to its first text. Resolves when the turn is finished. */
  ask(text: string): Promise<number>;
}

interface Place {
  program: string;
  directory: string;
  home: string;
  /** A directory for each session, as each of ours has a worktree. */
  makeRepository: () => string;
  modelUrl: string;
  /** Ends it with the agent. */
  own: (child: ChildProcess) => ChildProcess;
}

type Open = (place: Place) => Promise<() => Promise<BareSession>>;

export async function startBareAgent(kind: AgentKind, modelUrl: string): Promise<BareAgent> {
  await using startup = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "hawser-bare-agent-"));
  startup.defer(() => removeDirectory(directory));
  const home = join(directory, "home");
  mkdirSync(home);
  const children: ChildProcess[] = [];
  startup.defer(async () => {
    await Promise.all(children.map((child) => stopProcess(child)));
  });
  let repositories = 0;
  const open = await openers[kind]({
    program: await agentProgram(kind),
    directory,
    home,
    makeRepository: () => createRepository(join(directory, `project-${(repositories += 1)}`)),
    modelUrl,
    own(child) {
      children.push(child);
      return child;
    },
  });
  const owned = startup.move();
  return {
    open,
    pids: () => children.map(({ pid }) => pid!),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const environmentOf = (home: string) => ({ HOME: home, PATH: process.env["PATH"] });

const opencode: Open = async ({ program, directory, home, makeRepository, modelUrl, own }) => {
  writeOpencodeHome(home, modelUrl);
  const port = await freePort();
  const log = join(directory, "log");
  const serve = ["serve", "--pure", "--hostname", "127.0.0.1", "--port", String(port)];
  own(
    spawn(program, serve, {
      cwd: directory,
      env: { ...environmentOf(home), OPENCODE_DISABLE_MODELS_FETCH: "1" },
      stdio: ["ignore", openSync(log, "w"), "ignore"],
    }),
  );
  const isReady = () => Promise.resolve(readFileSync(log, "utf8").includes("listening"));
  await until("opencode listens", isReady, 30_000);
  const url = `http://127.0.0.1:${port}`;
  const post = (path: string, repository: string, body: object) =>
    fetch(`${url}${path}?directory=${encodeURIComponent(repository)}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const turns = new Map<string, Turn>();
  const events = await fetch(`${url}/global/event`);
  void (async () => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of events.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) {
        const turn = turns.get(/"sessionID":"([^"]+)"/.exec(frame)?.[1] ?? "");
        if (frame.includes('"message.part.delta"')) turn?.spoke();
        if (frame.includes('"session.idle"')) turn?.ended();
      }
    }
  })().catch(() => {});
  return async () => {
    const repository = makeRepository();
    const made = await post("/session", repository, { title: "x" });
    const { id } = (await made.json()) as { id: string };
    return {
      async ask(text) {
        const turn = openTurn();
        turns.set(id, turn);
        await post(`/session/${id}/prompt_async`, repository, {
          parts: [{ type: "text", text }],
          model: { providerID: "stub", modelID: "stub-1" },
        });
        const took = await turn.took;
        // Its second idle belongs to the same turn.
        await new Promise((resolve) => setTimeout(resolve, 100));
        return took;
      },
    };
  };
};

const claudeCode: Open = ({ program, home, makeRepository, modelUrl, own }) => {
  writeClaudeHome(home, modelUrl);
  const stream = ["--input-format", "stream-json", "--output-format", "stream-json"];
  return Promise.resolve(() => {
    const child = own(
      spawn(program, ["-p", "--verbose", "--include-partial-messages", ...stream], {
        cwd: makeRepository(),
        env: { ...environmentOf(home), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
        stdio: ["pipe", "pipe", "ignore"],
      }),
    );
    let turn: Turn | undefined;
    readLines(child, (line) => {
      if (line.includes('"text_delta"')) turn?.spoke();
      if (line.startsWith('{"type":"result"')) turn?.ended();
    });
    return Promise.resolve({
      ask(text) {
        turn = openTurn();
        const message = { type: "user", message: { role: "user", content: text } };
        child.stdin!.write(`${JSON.stringify(message)}\n`);
        return turn.took;
      },
    });
  });
};

/** The parts of codex's messages that are read. */
interface CodexMessage {
  id?: number;
  method?: string;
  params?: { threadId: string };
  result?: { thread?: { id: string } };
}

const codex: Open = async ({ program, home, makeRepository, modelUrl, own }) => {
  writeCodexHome(home, modelUrl);
  const child = own(
    spawn(program, ["app-server"], {
      cwd: home,
      env: { ...environmentOf(home), CODEX_HOME: home },
      stdio: ["pipe", "pipe", "ignore"],
    }),
  );
  const waiting = new Map<number, (result: CodexMessage["result"]) => void>();
  const turns = new Map<string, Turn>();
  readLines(child, (line) => {
    const { id, method, params, result } = JSON.parse(line) as CodexMessage;
    if (method === undefined) waiting.get(id!)?.(result);
    if (method === "item/agentMessage/delta") turns.get(params!.threadId)?.spoke();
    if (method === "turn/completed") turns.get(params!.threadId)?.ended();
  });
  let calls = 0;
  const call = (method: string, params: object) => {
    const id = (calls += 1);
    child.stdin!.write(`${JSON.stringify({ id, method, params })}\n`);
    return new Promise<CodexMessage["result"]>((resolve) => waiting.set(id, resolve));
  };
  await call("initialize", {
    clientInfo: { name: "bench", title: "bench", version: "1" },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  child.stdin!.write('{"method":"initialized"}\n');
  return async () => {
    const cwd = makeRepository();
    const started = await call("thread/start", { cwd, sandbox: "workspace-write" });
    const threadId = started!.thread!.id;
    // Lets it commit, as ours can.
    const sandboxPolicy = {
      type: "workspaceWrite",
      writableRoots: [join(cwd, ".git")],
      networkAccess: true,
      excludeSlashTmp: true,
      excludeTmpdirEnvVar: true,
    };
    return {
      async ask(text) {
        const turn = openTurn();
        turns.set(threadId, turn);
        await call("turn/start", { threadId, input: [{ type: "text", text }], sandboxPolicy });
        return turn.took;
      },
    };
  };
};

const openers: Record<AgentKind, Open> = { opencode, claude_code: claudeCode, codex };

interface Turn {
  spoke(): void;
  ended(): void;
  /** Milliseconds to its first text. Resolves when the turn has ended; rejects after a timeout. */
  took: Promise<number>;
}

const longestTurnMs = 30_000;

function openTurn(): Turn {
  const startedAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const late = setTimeout(() => reject(new Error("The bare agent is silent.")), longestTurnMs);
  let first: number | undefined;
  return {
    spoke: () => (first ??= performance.now() - startedAt),
    ended() {
      clearTimeout(late);
      if (first === undefined) reject(new Error("The bare agent ended without a word."));
      else resolve(first);
    },
    took: promise,
  };
}

function readLines(child: ChildProcess, read: (line: string) => void): void {
  createInterface({ input: child.stdout! }).on("line", read);
}
