// `hawser status`: what runs, since when, whether this machine is online as a host, and what is wrong.
import { resolve } from "node:path";
import type { Command } from "commander";
import { commandFor } from "../command-for.ts";
import { ownUrl } from "../local-url.ts";
import { dataDirectory, readSettings } from "../settings.ts";
import { safeText } from "../terminal.ts";
import { isDiskFull } from "./data-directory.ts";
import { countAgents, hasLink, isPaired } from "./host.ts";
import { isRunning, readRunState, runningUp } from "./run-state.ts";

/** A node whose database does not answer says so after 4 s. */
const answerMs = 6_000;

export function addStatus(program: Command): void {
  program
    .command("status")
    .description("show the parts that run; exit code 0 if all of them are ready")
    .option("--data <directory>", "the data directory (default ~/.hawser-server)")
    .option("--json", "print JSON")
    .action(async (options: { data?: string; json?: boolean }) => {
      const status = await readStatus(resolve(dataDirectory(options.data)));
      if (options.json) console.log(JSON.stringify(status));
      else describeStatus(status).forEach((line) => console.log(line));
      const isWhole =
        status.ready && status.answers && status.parts.every(({ running }) => running);
      process.exitCode = isWhole && status.host.online !== false ? 0 : 1;
    });
}

export type Status = Awaited<ReturnType<typeof readStatus>>;

export async function readStatus(data: string) {
  const up = runningUp(data);
  const settings = readSettings(data);
  const own = ownUrl(settings);
  const asked = up?.isReady && own ? `${own}/readyz` : undefined;
  const reason = asked ? await whyUnready(asked) : null;
  return {
    running: up !== undefined,
    answers: asked !== undefined && reason === null,
    /** Why the node does not answer as it should; null if it does, or if it is not started. */
    reason,
    diskFull: isDiskFull(data),
    /** Why it has stopped by itself; null if it runs, or was told to stop. */
    failure: up ? null : (readRunState(data)?.failure ?? null),
    ready: up?.isReady ?? false,
    url: settings.url ?? null,
    data,
    pid: up?.pid ?? null,
    since: up?.since ?? null,
    parts: (up?.parts ?? []).map((part) => ({
      name: part.name,
      running: isRunning(part) && part.isReady,
      pid: part.pid,
      version: part.version,
      since: part.since,
      restarts: part.restarts,
    })),
    host: {
      /** null if this machine is no host. */
      online:
        up && isPaired(data) && up.parts.some(({ name }) => name === "host") ? hasLink(data) : null,
      agents: countAgents(data),
    },
  };
}

/** The reason why the node is not ready; null if it is ready. A process that runs may hang. */
async function whyUnready(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(answerMs) });
    const text = await response.text();
    return response.ok ? null : text.trim();
  } catch {
    return "the node does not answer";
  }
}

export function describeStatus(status: Status): string[] {
  const disk = status.diskFull ? [`The disk of ${status.data} is full. Make room.`] : [];
  if (!status.running) {
    const failure =
      status.failure === null ? [] : [`It has stopped by itself: ${safeText(status.failure)}`];
    return [
      `Hawser does not run with the data in ${status.data}. To start it: ${commandFor(status.data, "up")}`,
      ...failure,
      ...disk,
    ];
  }
  const state = status.ready ? "runs" : "is starting";
  const unready =
    status.reason === null
      ? []
      : [
          `It cannot be used now: ${safeText(status.reason)}. To see why: ${commandFor(status.data, "logs")}`,
        ];
  return [
    `Hawser ${state} at ${status.url}, process ${status.pid}, since ${status.since}.`,
    ...unready,
    ...disk,
    ...status.parts.map((part) =>
      [
        `  ${part.name.padEnd(12)}`,
        part.running ? "runs" : "does not run",
        `process ${part.pid}`,
        `version ${part.version}`,
        `since ${part.since}`,
        `restarts ${part.restarts}`,
      ].join("  "),
    ),
    status.host.online === null
      ? "This machine is no host."
      : `This machine is ${status.host.online ? "online" : "not online"} as a host; agents that run: ${status.host.agents}.`,
    `Data: ${status.data}`,
  ];
}
