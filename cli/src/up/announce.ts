// The last words of a start: where the service is, where its key is, and what to do next.
import { commandFor, quoted } from "../command-for.ts";
import type { Settings } from "../settings.ts";
import { countAgents } from "./host.ts";
import { safeText } from "../terminal.ts";
import { keyFileOf } from "./set-up.ts";

export interface Announcement {
  data: string;
  settings: Settings;
  instanceId: string | undefined;
  /** Where a first session can start; undefined if this machine is no host. */
  directory: string | undefined;
  /** Signs the first owner in; undefined if there is no terminal, or if the owner signs in otherwise. */
  signInLink: string | undefined;
  json: boolean;
  say: (sentence: string) => void;
}

export function announce(announcement: Announcement): void {
  const { data, settings, instanceId, json, say } = announcement;
  const { url, key } = settings;
  if (json) {
    process.stdout.write(`${JSON.stringify({ url, key, instanceId: instanceId ?? null })}\n`);
    return;
  }
  say("");
  say(`Hawser is ready at ${url}`);
  if (announcement.signInLink !== undefined) printLink(data, announcement.signInLink);
  const lines = [
    `The owner's key is in ${keyFileOf(data)}; the commands of hawser on this machine use it by themselves.`,
    "",
    ...firstSession(announcement),
    "Other commands:",
    ...aligned([
      [commandFor(data, "call --list"), "lists the actions"],
      [commandFor(data, "status"), "shows the parts"],
      [commandFor(data, "down"), "stops everything, as Ctrl-C here does"],
    ]),
  ];
  lines.forEach((line) => say(line));
}

/** Only on the terminal: `say` writes into a log too. */
function printLink(data: string, link: string): void {
  const lines = [
    "To sign in as its owner, open this in a browser of this machine. It works once, within 15 minutes:",
    `  ${link}`,
    `For another link: ${commandFor(data, "sign-in-link")}`,
  ];
  process.stdout.write(`${safeText(lines.join("\n"))}\n`);
}

/** Three lines for a shell, which start a session and show the answer to a prompt. */
function firstSession({ data, instanceId, directory }: Announcement): string[] {
  if (instanceId === undefined || directory === undefined) return [];
  const call = (action: string, body: string) => commandFor(data, `call ${action} ${body}`);
  const start = call("start_session", quoted(JSON.stringify({ instanceId, directory })));
  return [
    "A first session, in another terminal:",
    `  SESSION=$(${start} --pick sessionId)`,
    `  ${call("send_prompt", `'{"sessionId":"'$SESSION'","text":"Say hello."}'`)}`,
    `  ${call("wait_for_session", `'{"sessionId":"'$SESSION'"}'`)}`,
    "",
  ];
}

function aligned(rows: [command: string, meaning: string][]): string[] {
  const width = Math.max(...rows.map(([command]) => command.length));
  return rows.map(([command, meaning]) => `  ${command.padEnd(width)}     ${meaning}`);
}

/** A sentence about agents that still run, with a space before it; empty if none does. */
export function describeAgents(data: string): string {
  const count = countAgents(data);
  if (count === 0) return "";
  return count === 1
    ? " One agent still runs; the next hawser up finds it again."
    : ` ${count} agents still run; the next hawser up finds them again.`;
}
