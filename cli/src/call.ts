// `hawser call ACTION [BODY]`: calls any action and prints its answer. A call that breaks off is sent again
// with the same idempotency key, so that it takes effect once.
import { fstatSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { actionNames, type CallOptions } from "@hawser/client";
import type { Command } from "commander";
import { CommandFailed } from "./command-failed.ts";
import { connect, explain, noConnection, unreachableMs, type Connection } from "./connect.ts";
import { nearest } from "./nearest.ts";
import { printField } from "./pick.ts";
import { dataDirectory, readLogin, type Login } from "./settings.ts";
import { printNotice, printText, safeJson, safeText } from "./terminal.ts";

interface Options {
  data?: string;
  list?: boolean;
  pick?: string;
  idempotencyKey?: string;
  deadline: string;
}

const wrongUsage = 2;

export function addCall(program: Command): void {
  program
    .command("call")
    .summary("call an action of the service")
    .description(
      'Calls an action and prints its answer as JSON. The address and the key are HAWSER_URL and HAWSER_KEY, or those of this machine\'s "hawser up".',
    )
    .argument("[action]", "the action, such as list_instances")
    .argument("[body]", "its fields as a JSON object; - reads standard input, @FILE a file")
    .option("--pick <field>", "print only the first value of this field")
    .option("--idempotency-key <key>", "repeat an earlier call: it takes effect once")
    .option("--deadline <seconds>", "give up after this time", "60")
    .option("--list", "list the actions that the key may call; the argument narrows the list")
    .option("--data <directory>", "the data directory of hawser up")
    .addHelpText(
      "after",
      `
Examples:
  hawser call list_instances
  hawser call list_instances --pick instanceId
  hawser call send_prompt '{"sessionId":"ses_…","text":"Say hello."}'
  hawser call start_session @session.json
  hawser call --list session

Exit codes: 0 done, 1 refused by the service, 2 wrong usage, 3 no connection.`,
    )
    .action(async (action: string | undefined, body: string | undefined, options: Options) => {
      process.once("SIGINT", () => process.exit(130));
      if (options.list) return list(action ?? "", options);
      if (action === undefined) {
        throw new CommandFailed(
          'Name an action: "hawser call --list" lists them, "hawser call --help" shows examples.',
          wrongUsage,
        );
      }
      await call(action, body, options);
    });
}

type AnyAction = (body: object, options: CallOptions) => Promise<unknown>;

async function call(name: string, bodyText: string | undefined, options: Options): Promise<void> {
  const action = actionNames.find((each) => each === name);
  if (!action) throw unknownAction(name);
  const login = readLogin(dataDirectory(options.data));
  const body = await readBody(bodyText);
  using connection = openConnection(login, `the answer of ${action}`, options);
  const send = connection.client[action] as unknown as AnyAction;
  const { idempotencyKey } = options;
  const answer = await explained(() => send(body, { idempotencyKey, signal: connection.signal }));
  if (options.pick === undefined) printText(safeJson(answer, process.stdout.isTTY));
  else printField(answer, options.pick);
}

function openConnection(login: Login, waitsFor: string, { deadline }: Options): Connection {
  const seconds = Number(deadline);
  if (!(seconds > 0 && seconds <= 86_400)) {
    throw new CommandFailed("--deadline is a number of seconds, at most 86400.", wrongUsage);
  }
  return connect(login, { waitsFor, deadlineMs: seconds * 1000, unreachableMs });
}

/** Throws what the user can read, or the error itself if the program is wrong. */
async function explained<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw explain(error) ?? error;
  }
}

function unknownAction(name: string): CommandFailed {
  const near = nearest(name, actionNames);
  const hint = near ? `Did you mean ${near}? ` : "";
  return new CommandFailed(
    `There is no action "${name}". ${hint}"hawser call --list" lists them. If the service is newer than this command, update hawser.`,
    wrongUsage,
  );
}

async function readBody(argument: string | undefined): Promise<object> {
  const source = await readSource(argument);
  if (source.trim() === "") return {};
  let body: unknown;
  try {
    body = JSON.parse(source);
  } catch (error) {
    throw new CommandFailed(`The body is not JSON: ${(error as Error).message}.`, wrongUsage);
  }
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  throw new CommandFailed(
    'The body is not a JSON object. Write its fields like {"limit":10}.',
    wrongUsage,
  );
}

async function readSource(argument: string | undefined): Promise<string> {
  if (argument?.startsWith("@")) return readBodyFile(argument.slice(1));
  if (argument !== undefined && argument !== "-") return argument;
  if (argument === undefined && !isPiped()) return "";
  const waiting = setTimeout(
    () => printNotice("Reading the body from standard input. Ctrl-D ends it …"),
    1_000,
  );
  try {
    return await text(process.stdin);
  } finally {
    clearTimeout(waiting);
  }
}

/**
 * Whether a shell has connected standard input to a pipe or a file. Another program's socket does not count: it
 * may stay open without a body.
 */
function isPiped(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isFile();
  } catch {
    // A closed standard input.
    return false;
  }
}

function readBodyFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandFailed(
      `The body cannot be read from ${path}: ${(error as Error).message}.`,
      wrongUsage,
    );
  }
}

interface Listed {
  name: string;
  summary: string;
}

/** The actions that the key may call, as the service describes them. */
async function list(part: string, options: Options): Promise<void> {
  const login = readLogin(dataDirectory(options.data));
  using connection = openConnection(login, "the list of actions", options);
  const { url, key } = connection;
  const response = await connection
    .fetch(`${url}/api/rest/actions`, { headers: { authorization: `Bearer ${key}` } })
    .catch((error: unknown) => {
      if (error instanceof CommandFailed) throw error;
    });
  const answer = (await response?.json().catch(() => undefined)) as
    | { actions?: Listed[]; error?: { code: string; message: string } }
    | undefined;
  if (answer?.error) {
    throw new CommandFailed(`${answer.error.message}\nCode: ${answer.error.code}`);
  }
  if (!answer?.actions) {
    throw new CommandFailed(
      `No service answers at ${url}. Start it with "hawser up", or correct HAWSER_URL.`,
      noConnection,
    );
  }
  const found = answer.actions.filter(
    ({ name, summary }) =>
      name.includes(part) || summary.toLowerCase().includes(part.toLowerCase()),
  );
  if (found.length === 0) throw new CommandFailed(`No action mentions "${part}".`);
  const width = Math.max(...found.map(({ name }) => name.length));
  for (const { name, summary } of found) printText(safeText(`${name.padEnd(width)}  ${summary}`));
}
