// `npm run faults -- link | sessions | approvals | rotation | schedules | webhooks | up [options]`: injects faults into a
// running product, and fails if the history of the run shows a broken promise. The seed repeats the choices, not the timing.
import { randomInt } from "node:crypto";
import { readArguments } from "@hawser/testkit/read-arguments.ts";
import { AgentKind } from "@hawser/contract";
import { linkFaults } from "./link.ts";
import {
  printApprovals,
  printLink,
  printRotation,
  printSchedules,
  printSessions,
  printUp,
  printWebhooks,
} from "./print.ts";
import { rotations, runRotations, type RotatedKey } from "./rotations.ts";
import { runFault } from "./run.ts";
import { runScheduleFaults } from "./schedules.ts";
import { runApprovals } from "./sessions/run-approvals.ts";
import { runSessions } from "./sessions/run-sessions.ts";
import { runUpFaults } from "./up.ts";
import type { Violation } from "./violation.ts";
import { runWebhookFaults } from "./webhooks.ts";

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    json: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    // Options of link.
    fault: { type: "string" },
    commands: { type: "string", default: "200" },
    entries: { type: "string", default: "2000" },
    seconds: { type: "string", default: "20" },
    // Options of sessions and approvals.
    hosts: { type: "string" },
    sessions: { type: "string", default: "20" },
    kinds: { type: "string", default: "opencode" },
    turns: { type: "string", default: "200" },
    kills: { type: "string" },
    unnoticed: { type: "string", default: "100" },
    requests: { type: "string", default: "200" },
    // Option of rotation.
    key: { type: "string", default: Object.keys(rotations).join(",") },
    // Options of schedules.
    schedules: { type: "string", default: "1000" },
    stopped: { type: "string", default: "90" },
    // Option of webhooks.
    deliveries: { type: "string", default: "10000" },
  },
});

const { seed } = values;
const wanted = values.fault?.split(",");
const unknown = wanted?.filter((id) => !linkFaults.some((fault) => fault.id === id)) ?? [];
const noted = (prefix: string) =>
  values.verbose ? { onNote: (line: string) => console.error(`  ${prefix} ${line}`) } : {};
const counted = (name: "sessions" | "turns" | "unnoticed" | "requests") => Number(values[name]);

const runs: Record<string, () => Promise<void>> = {
  async link() {
    for (const fault of linkFaults.filter(({ id }) => !wanted || wanted.includes(id))) {
      const result = await runFault(fault, {
        seed,
        commands: Number(values.commands),
        entries: Number(values.entries),
        seconds: Number(values.seconds),
        ...noted(fault.id),
      });
      report(result, printLink);
    }
  },
  async sessions() {
    const result = await runSessions({
      seed,
      hosts: Number(values.hosts ?? 1),
      kinds: AgentKind.array().parse(values.kinds.split(",")),
      sessions: counted("sessions"),
      turns: counted("turns"),
      kills: Number(values.kills ?? 100),
      unnoticed: counted("unnoticed"),
      ...noted("sessions"),
    });
    report(result, printSessions);
  },
  async approvals() {
    const result = await runApprovals({
      seed,
      sessions: counted("sessions"),
      requests: counted("requests"),
      kills: Number(values.kills ?? 100),
      ...noted("approvals"),
    });
    report(result, printApprovals);
  },
  async rotation() {
    const hosts = Number(values.hosts ?? 200);
    const results = runRotations({ keys: chosenKeys(), hosts, ...noted("rotation") });
    for await (const result of results) report(result, printRotation);
  },
  async schedules() {
    const result = await runScheduleFaults({
      schedules: Number(values.schedules),
      hosts: Number(values.hosts ?? 50),
      stoppedSeconds: Number(values.stopped),
      ...noted("schedules"),
    });
    report(result, printSchedules);
  },
  async webhooks() {
    const deliveries = Number(values.deliveries);
    const result = await runWebhookFaults({ seed, deliveries, ...noted("webhooks") });
    report(result, printWebhooks);
  },
  async up() {
    const kills = Number(values.kills ?? 30);
    report(await runUpFaults({ seed, kills, ...noted("up") }), printUp);
  },
};

function chosenKeys(): RotatedKey[] {
  const wantedKeys = values.key.split(",");
  return (Object.keys(rotations) as RotatedKey[]).filter((key) => wantedKeys.includes(key));
}

function report<R extends { violations: Violation[] }>(
  result: R,
  print: (result: R) => void,
): void {
  if (values.json) console.log(JSON.stringify(result));
  else print(result);
  if (result.violations.length > 0) process.exitCode = 1;
}

const run = positionals.length === 1 && unknown.length === 0 ? runs[positionals[0]!] : undefined;
if (!run) {
  const ids = linkFaults.map(({ id, title }) => `  ${id.padEnd(4)} ${title}`).join("\n");
  process.stderr.write(
    `usage: npm run faults -- link [--fault F1,F2] [--commands 200] [--entries 2000] [--seconds 20]
       npm run faults -- sessions [--kinds opencode,claude_code,codex] [--hosts 1] [--sessions 20] [--turns 200]
                                      [--kills 100] [--unnoticed 100]
       npm run faults -- approvals [--sessions 20] [--requests 200] [--kills 100]
       npm run faults -- rotation [--key ${Object.keys(rotations).join(",")}] [--hosts 200]
       npm run faults -- schedules [--schedules 1000] [--hosts 50] [--stopped 90]
       npm run faults -- webhooks [--deliveries 10000]
       npm run faults -- up [--kills 30]
       each with [--seed S] [--json] [--verbose]

faults of the link:
${ids}
`,
  );
  process.exit(2);
}
if (!values.json) console.log(`seed ${seed}`);
await run();
