// `hawser login URL` and `hawser logout`: this user's key for a service, without pasting one.
import { hostname } from "node:os";
import { createClient, Refused, type Client } from "@hawser/client";
import { isServerUrl } from "@hawser/host-protocol";
import type { Command } from "commander";
import { CommandFailed } from "./command-failed.ts";
import { commandFor } from "./command-for.ts";
import { connect, explain, unreachableMs } from "./connect.ts";
import { beginLogin, untilApproved } from "./device-login.ts";
import { fetchFromOwn, listenerAt } from "./listener.ts";
import { openBrowser } from "./open-browser.ts";
import { dataDirectory } from "./settings.ts";
import {
  readStoredLogin,
  removeStoredLogin,
  storedLoginFile,
  storeLogin,
  type StoredLogin,
} from "./stored-login.ts";
import { printNotice, printText, safeText } from "./terminal.ts";

interface LoginOptions {
  data?: string;
  name: string;
  /** False with --no-browser. */
  browser: boolean;
}

const answerMs = 30_000;

export function addLogin(program: Command): void {
  program
    .command("login")
    .summary("get a key of a service, approved in a browser")
    .description(
      "Shows a code that you approve in a browser in which you are signed in to the service, and stores the key that it makes for you. The other commands then use this service.",
    )
    .argument("<url>", "the address of the service")
    .option("--name <name>", "the name of the key", `hawser on ${hostname()}`.slice(0, 100))
    .option("--no-browser", "open no browser here")
    .option("--data <directory>", "where the key is stored (default ~/.hawser-server)")
    .action(async (url: string, options: LoginOptions) => {
      process.once("SIGINT", () => process.exit(130));
      await logIn(url, options);
    });
}

async function logIn(given: string, options: LoginOptions): Promise<void> {
  const data = dataDirectory(options.data);
  const url = serverUrl(given);
  const known = readStoredLogin(data);
  if (known) {
    throw new CommandFailed(
      `You are logged in to ${known.url} already. To end that: ${commandFor(data, "logout")}`,
      2,
    );
  }
  const isOwn = listenerAt(url) === "own";
  const asked = { url, request: isOwn ? fetchFromOwn : fetch };
  const begun = await beginLogin(asked, options.name);
  printNotice("Open this page, and approve the code there if it is the same:");
  printNotice(`  ${begun.verificationUrl}`);
  printNotice(`  ${begun.userCode}`);
  // A false service could pass on the code of a true one, and get the key that is approved there.
  if (new URL(begun.verificationUrl).origin !== url) {
    printNotice(`That page is at another address than ${url}, which gets the key.`);
    printNotice("Approve the code only if both are addresses of your service.");
  } else if (options.browser) {
    openBrowser(begun.verificationUrl);
  }
  printNotice("Waiting until you have approved it. Ctrl-C ends this …");
  const { key, apiKeyId } = await untilApproved(asked, begun);
  const login = { url, key, apiKeyId, isOwn };
  const client = clientFor(login);
  try {
    storeLogin(data, login);
  } catch (error) {
    await client.revoke_api_key({ apiKeyId }).catch(() => {});
    throw new CommandFailed(
      `The key could not be stored in ${storedLoginFile(data)} (${(error as Error).message}), so it was revoked. Name another directory with --data.`,
    );
  }
  const { user, organization } = await client.whoami().catch((error: unknown) => {
    throw explain(error) ?? error;
  });
  printText(
    safeText(
      `Logged in to ${url} as ${user?.name ?? "its organization"}, in the organization ${organization.name}.`,
    ),
  );
  printText(safeText(`The key ${apiKeyId} is in ${storedLoginFile(data)}.`));
}

/** https:// if the person typed a name alone. */
function serverUrl(given: string): string {
  const url = /^[a-z]+:\/\//i.test(given) ? given : `https://${given}`;
  if (isServerUrl(url)) return new URL(url).origin;
  throw new CommandFailed(
    `${given} is not safe: your key is sent to it. Use its https:// address; http:// is accepted for loopback addresses only.`,
    2,
  );
}

function clientFor({ url, key, isOwn }: StoredLogin): Client {
  return createClient({ url, key, deadlineMs: answerMs, fetch: isOwn ? fetchFromOwn : fetch });
}

export function addLogout(program: Command): void {
  program
    .command("logout")
    .summary("revoke the key of hawser login, and forget it")
    .description("Revokes the key that hawser login has stored, and removes it from this machine.")
    .option("--force", "remove it here even if the service does not answer")
    .option("--data <directory>", "where the key is stored (default ~/.hawser-server)")
    .action(async (options: { data?: string; force?: boolean }) => {
      process.once("SIGINT", () => process.exit(130));
      await logOut(dataDirectory(options.data), options.force === true);
    });
}

async function logOut(data: string, isForced: boolean): Promise<void> {
  const login = readStoredLogin(data);
  if (!login) {
    throw new CommandFailed("You are not logged in: hawser login has stored no key here.");
  }
  const failure = await revoke(login);
  if (failure && !isForced) {
    throw new CommandFailed(
      `${failure.message}\nThe key is still stored here, and may still be valid. To remove it from this machine only: ${commandFor(data, "logout --force")}`,
      failure.exitCode,
    );
  }
  removeStoredLogin(data);
  printText(
    failure
      ? `Removed from this machine. Revoke the key ${login.apiKeyId} at ${login.url}.`
      : `Logged out of ${login.url}: the key ${login.apiKeyId} is revoked.`,
  );
}

/** Returns why the key may still be valid; undefined if it is not. */
async function revoke(login: StoredLogin): Promise<CommandFailed | undefined> {
  using connection = connect(login, {
    waitsFor: "the revocation",
    deadlineMs: answerMs,
    unreachableMs,
  });
  const { client, signal } = connection;
  try {
    await client.revoke_api_key({ apiKeyId: login.apiKeyId }, { signal });
    return undefined;
  } catch (error) {
    // Somebody has revoked the key already.
    if (error instanceof Refused && error.status === 401) return undefined;
    const failure = explain(error);
    if (failure) return failure;
    throw error;
  }
}
