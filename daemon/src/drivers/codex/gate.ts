// The gate that every tool call of codex passes: a hook that codex runs before each call. The hook sends the
// call to the daemon and lets it run only if the daemon answers `allow` (decision 0036).
//
// Codex runs a call although its hook failed, so the hook refuses in every case it can handle: no daemon, no
// answer, another answer. It is a shell text instead of a program: no file can be missing or changed, and
// bash starts in 5 ms, Node.js in 40.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What codex sends to a hook, as far as the driver reads it. */
export interface HookInput {
  /** Thread of the session, also for calls of its sub-agents. */
  session_id: string;
  /** Thread of the sub-agent that makes the call. */
  agent_id?: string;
  /** Directory that the call works in. */
  cwd: string;
  tool_name: string;
  tool_input: unknown;
  /** Id of the item that the call becomes. */
  tool_use_id: string;
}

/** Returns undefined to let the call run, or why it is refused. `gone`: codex no longer waits. */
export type Gatekeeper = (input: HookInput, gone: AbortSignal) => Promise<string | undefined>;

export interface Gate {
  /** Value of HAWSER_GATE in codex's environment: port and secret. Commands do not inherit it. */
  variable: string;
  /** Refuses the calls that wait, and all further calls. */
  close(): void;
}

const script = [
  'exec 3<>"/dev/tcp/127.0.0.1/${HAWSER_GATE%% *}"',
  'printf "%s\\n" "${HAWSER_GATE##* }" >&3',
  "cat >&3",
  'printf "\\n" >&3',
  "IFS= read -r answer <&3",
  '{ [ "$answer" = allow ] || { printf "%s\\n" "${answer:-Refused.}" >&2; exit 3; }; }',
].join(" && ");

const unreachable = "Refused: the daemon could not be asked about this call.";

/** Codex takes a call as refused only if the hook exits with 2 and has written to its error output. */
export const gateCommand = `/bin/bash --norc -c '${script}' || { [ $? = 3 ] || echo "${unreachable}" >&2; exit 2; }`;

/** A hook that takes longer lets its call run, so the daemon gives up earlier. */
const timeoutSeconds = 7 * 24 * 3600;
const holdMs = 6 * 24 * 3600 * 1000;
const readMs = 30_000;
const maxBytes = 16 * 1024 * 1024;

/** Settings of codex that install the hook and trust it. Codex skips hooks that are not trusted. */
export function gateSettings(): Record<string, string> {
  const hook = { async: false, command: gateCommand, timeout: timeoutSeconds, type: "command" };
  const identity = JSON.stringify({ event_name: "pre_tool_use", hooks: [hook] });
  const hash = createHash("sha256").update(identity).digest("hex");
  const quoted = JSON.stringify(gateCommand);
  const key = "/<session-flags>/config.toml:pre_tool_use:0:0";
  return {
    "features.hooks": "true",
    "hooks.PreToolUse": `[{hooks=[{type="command",command=${quoted},timeout=${timeoutSeconds}}]}]`,
    "hooks.state": `{"${key}"={trusted_hash="sha256:${hash}",enabled=true}}`,
  };
}

export async function openGate(keeper: Gatekeeper): Promise<Gate> {
  const secret = randomBytes(32).toString("hex");
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    void serve(socket, secret, keeper).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    variable: `${port} ${secret}`,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

async function serve(socket: Socket, secret: string, keeper: Gatekeeper): Promise<void> {
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  const lines = await readLines(socket);
  if (!isSame(lines?.[0], secret)) return void socket.destroy();
  const input = JSON.parse(lines![1]!) as HookInput;
  const late = sleep(holdMs, "Nobody answered in time.", { signal: gone.signal, ref: false });
  const refusal = await Promise.race([keeper(input, gone.signal), late]);
  socket.end(`${refusal === undefined ? "allow" : refusal.replaceAll(/\s+/g, " ").trim()}\n`);
}

/** The first two lines: the secret and the call. undefined if they are too long or come too late. */
function readLines(socket: Socket): Promise<string[] | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let ends = 0;
    const finish = (lines?: string[]) => {
      clearTimeout(timer);
      socket.removeAllListeners("data");
      socket.resume();
      resolve(lines);
    };
    const timer = setTimeout(finish, readMs);
    socket.once("close", () => finish());
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      for (const byte of chunk) if (byte === 10) ends += 1;
      if (ends >= 2) finish(Buffer.concat(chunks).toString("utf8").split("\n"));
      else if (size > maxBytes) finish();
    });
  });
}

function isSame(given: string | undefined, secret: string): boolean {
  const [one, other] = [Buffer.from(given ?? ""), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}
