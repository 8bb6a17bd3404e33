// Runs the driver of Claude Code in a process that a test can kill: starts a session, sends one prompt and
// prints each event as a line. The first line is the session's handle.
import { join } from "node:path";
import { silentLog } from "@hawser/daemon/log.ts";
import { createClaudeDriver } from "@hawser/daemon/drivers/claude-code/driver.ts";
import { placeIn, type Place } from "./conformance/bench.ts";

export interface Errand {
  program: string;
  home: string;
  directory: string;
  /** JSON has no functions, so the process decides by the policy in it. */
  place: Omit<Place, "decide">;
  text: string;
}

const { program, home, directory, place, text } = JSON.parse(process.argv[2]!) as Errand;
const never = new AbortController().signal;
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

const driver = createClaudeDriver({
  program: () => ({ path: program, version: "2.1.197" }),
  environment: { HOME: home },
  temporaryDirectory: join(home, "tmp"),
  log: silentLog,
});
const session = await driver.start(placeIn(directory, place), say, never);
say({ handle: session.handle });
const prompt = { turnId: "turn-1", messageId: "message-1", text, options: {} };
const plain = { task: { type: "prompt" }, context: [], attachments: [] } as const;
await session.prompt({ ...plain, ...prompt, model: null, agent: null }, never);
