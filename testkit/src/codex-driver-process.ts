// Runs the driver of codex in a process that a test can kill: starts a session, sends one prompt, allows
// every request and prints each event as a line. Another line has the session's handle.
import { join } from "node:path";
import { createCodexDriver } from "@hawser/daemon/drivers/codex/driver.ts";
import type { AgentEvent, SessionSettings } from "@hawser/daemon/drivers/driver.ts";
import { silentLog } from "@hawser/daemon/log.ts";
import { placeIn } from "./conformance/bench.ts";

export interface CodexErrand {
  program: string;
  home: string;
  place: SessionSettings;
  text: string;
}

export type CodexSaid = { event: AgentEvent } | { handle: string; startId: string | undefined };

const { program, home, place, text } = JSON.parse(process.argv[2]!) as CodexErrand;
const never = new AbortController().signal;
const say = (said: CodexSaid) => process.stdout.write(`${JSON.stringify(said)}\n`);

const driver = createCodexDriver({
  program: () => ({ path: program, version: "0.166.0" }),
  home,
  environment: { HOME: place.directory },
  temporaryDirectory: join(home, "tmp"),
  userHome: place.directory,
  closed: { secrets: [], ownDirectories: [] },
  log: silentLog,
});
const session = await driver.start(
  // A function cannot be sent to this process.
  { ...placeIn(place.directory), ...place },
  (event) => {
    say({ event });
    if (event.type === "request") void session.answer(event.key, { permission: "once" }, never);
  },
  never,
);
say({ handle: session.handle, startId: driver.liveStarts()[0] });
const prompt = { turnId: "turn-1", messageId: "message-1", text, options: {} };
const plain = { task: { type: "prompt" }, context: [], attachments: [] } as const;
await session.prompt({ ...plain, ...prompt, model: null, agent: null }, never);
