// The history of a run, and the check that the product kept its promises: every command took effect once or
// failed visibly, every entry was applied once and in order, and presence was right. The check reads only
// the history, and does not know the fault.

import type { JournalCommand, SentCommand } from "./command-records.ts";
import { brief, ofJournal } from "./describe.ts";
import { same, violation, type Violation } from "./violation.ts";

export interface Entry {
  seq: number;
  at: string;
  turnId: string | null;
  update: Record<string, unknown>;
}

export interface Host {
  instanceId: string;
  /** How often its commands took effect. */
  effects: number;
  commands: JournalCommand[];
  sessions: { sessionId: string; entries: Entry[] }[];
  /** The times at which it was killed. */
  deaths: number[];
}

export interface History {
  commands: SentCommand[];
  hosts: Host[];
  /** Entries that a host confirmed as written. */
  appended: { sessionId: string; seq: number; messageId: string }[];
  /** The sessions that the service has stored. */
  stored: { sessionId: string; appliedSeq: number; entries: Entry[] }[];
  presence: { instanceId: string; wanted: string; seen: string; afterMs: number }[];
  /** Replies of hosts to commands that were delivered to them again. */
  replies: { instanceId: string; commandId: string; outcome: unknown }[];
  /** Other violations, such as activity that did not end after the last fault. */
  broken: string[];
}

export function check(history: History): Violation[] {
  return [
    ...checkAnswers(history),
    ...history.hosts.flatMap((host) => checkEffects(host, history)),
    ...checkReplies(history),
    ...checkEntries(history),
    ...history.presence
      .filter(({ wanted, seen }) => wanted !== seen)
      .map((line) => violation("presence is not true", line)),
    ...history.broken.map((line) => ({ rule: "not in time", lines: [line] })),
  ];
}

/** How a command ended for its client. */
export function endOf({ answers }: SentCommand): "done" | "failed" | "unknown" {
  const last = answers.find(({ final }) => final);
  if (!last) return "unknown";
  return last.status === 200 ? "done" : "failed";
}

function checkAnswers({ commands, hosts }: History): Violation[] {
  const journals = new Map(
    hosts.map(({ instanceId, commands }) => [
      instanceId,
      new Map(commands.map((command) => [command.id, command])),
    ]),
  );
  return commands.flatMap((sent) => {
    const found: Violation[] = [];
    const finals = sent.answers.filter(({ final }) => final);
    const kept = sent.commandId && journals.get(sent.instanceId)?.get(sent.commandId);
    const isDone = Boolean(kept && kept.outcome && "result" in kept.outcome);
    const say = (rule: string) => found.push(violation(rule, brief(sent), ofJournal(kept)));
    if (new Set(finals.map(({ status, body }) => `${status} ${body}`)).size > 1) {
      say("a command was answered in two ways");
    }
    const end = endOf(sent);
    if (end === "done" && !isDone) say("a command was answered and never done");
    if (end === "failed" && isDone) say("a command was refused and yet done");
    if (end === "unknown") say("a command was not answered after the fault was over");
    return found;
  });
}

/** Each effect belongs to one command. Only the death of a host may let a command run again. */
function checkEffects(host: Host, { commands }: History): Violation[] {
  const found: Violation[] = [];
  const sent = new Map(commands.map((command) => [command.commandId, command]));
  const runs = new Map<unknown, JournalCommand>();
  let done = 0;
  let cut = 0;
  for (const command of host.commands) {
    const owner = sent.get(command.id);
    if (owner?.instanceId !== host.instanceId) {
      found.push(
        violation("a host has a command that it was never sent", host.instanceId, command),
      );
    }
    if (wasCut(command, host.deaths)) cut += 1;
    if (!command.outcome || !("result" in command.outcome)) continue;
    done += 1;
    const run = command.outcome.result["runs"];
    const twin = runs.get(run);
    if (twin) found.push(violation("two commands share one effect", twin, command));
    runs.set(run, command);
  }
  const extra = host.effects - done;
  if (extra < 0) {
    found.push(violation("a command is done without effect", figures(host, done, cut)));
  } else if (extra > cut) {
    const missing = Array.from({ length: host.effects }, (_, i) => i + 1).filter(
      (run) => !runs.has(run),
    );
    const lines = [figures(host, done, cut), `effects of no command: ${missing.join(", ")}`];
    found.push({ rule: "a command was run twice", lines });
  }
  return found;
}

/** The command began before the host died and had not ended: it may have taken effect, and again later. */
function wasCut({ begunAt, finishedAt }: JournalCommand, deaths: number[]): boolean {
  return deaths.some((death) => begunAt <= death && (finishedAt === null || finishedAt >= death));
}

const figures = ({ instanceId, effects }: Host, done: number, cut: number) =>
  `${instanceId}: ${effects} effects, ${done} commands done, ${cut} cut by a death`;

/** A repeated command gets the same outcome, and only from its own host. */
function checkReplies({ hosts, replies }: History): Violation[] {
  return replies.flatMap((reply) => {
    const host = hosts.find(({ instanceId }) => instanceId === reply.instanceId);
    const kept = host?.commands.find(({ id }) => id === reply.commandId);
    const refused = (reply.outcome as { refusal?: { code: string } }).refusal?.code;
    if (kept ? same(kept.outcome, reply.outcome) : refused === "not_genuine") return [];
    return [violation("a repeated command got another outcome", reply, kept ?? "no journal")];
  });
}

function checkEntries({ hosts, stored, appended }: History): Violation[] {
  const found: Violation[] = [];
  const written = new Map(
    hosts.flatMap(({ sessions }) => sessions.map((each) => [each.sessionId, each.entries])),
  );
  for (const { sessionId, seq, messageId } of appended) {
    const entry = written.get(sessionId)?.find((each) => each.seq === seq);
    if (entry?.update["messageId"] === messageId) continue;
    found.push(
      violation("a journal lost an entry", { sessionId, seq, messageId }, entry ?? "none"),
    );
  }
  for (const { sessionId, appliedSeq, entries } of stored) {
    const journal = written.get(sessionId) ?? [];
    found.push(...checkLog(sessionId, "journal", journal), ...checkLog(sessionId, "log", entries));
    if (appliedSeq !== entries.length) {
      const counts = `${sessionId}: applied_seq ${appliedSeq}, ${entries.length} entries`;
      found.push({ rule: "applied_seq is not the log's length", lines: [counts] });
    }
    for (let i = 0; i < Math.max(journal.length, entries.length); i++) {
      if (same(journal[i], entries[i])) continue;
      const lines = [journal[i], entries[i]].map((entry) => JSON.stringify(entry)?.slice(0, 300));
      const [host = "nothing", service = "nothing"] = lines;
      found.push({
        rule: "the log is not the journal",
        lines: [`${sessionId} at ${i + 1}`, `journal: ${host}`, `log: ${service}`],
      });
      break;
    }
  }
  return found;
}

/** Numbers 1, 2, 3 … without a gap or a repeated entry, and no reset if nothing was lost. */
function checkLog(sessionId: string, where: string, entries: Entry[]): Violation[] {
  const found: Violation[] = [];
  const seen = new Map<unknown, number>();
  for (const [index, { seq, update }] of entries.entries()) {
    const at = `${sessionId} ${where} at ${index + 1}: seq ${seq}`;
    if (seq !== index + 1) {
      found.push({ rule: "a log has a gap or a repeat", lines: [at] });
      break;
    }
    const { messageId, sessionUpdate } = update;
    if (sessionUpdate === "journal_reset") found.push({ rule: "a needless reset", lines: [at] });
    if (messageId !== undefined && seen.has(messageId)) {
      const lines = [`${at} repeats seq ${seen.get(messageId)}`, JSON.stringify(messageId)];
      found.push({ rule: "an entry was written twice", lines });
    }
    seen.set(messageId, seq);
  }
  return found;
}
