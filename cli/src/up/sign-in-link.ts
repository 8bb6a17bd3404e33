// `hawser sign-in-link`, and the link that a start of `hawser up` prints: an owner without password and passkey signs
// in with it. It is printed on a terminal only, and stored nowhere.
import { resolve } from "node:path";
import type { Command } from "commander";
import { commandFor } from "../command-for.ts";
import { CommandFailed } from "../command-failed.ts";
import { dataDirectory, readSettings } from "../settings.ts";
import { printNotice, printText, safeText } from "../terminal.ts";
import { companyDatabase, ownDatabase } from "./database.ts";
import { packageDirectory } from "./package-directory.ts";
import { runningUp } from "./run-state.ts";
import { firstOwner, runControlPlane } from "./set-up.ts";

interface Place {
  data: string;
  /** The package's directory. */
  pack: string;
}

interface MadeLink {
  url: string;
  email: string;
}

export function addSignInLink(program: Command): void {
  program
    .command("sign-in-link")
    .summary("print a link with which an owner signs in once")
    .description(
      "Prints a link with which an owner of this machine's service, who has no password and no passkey, signs in with a browser. It works once, within 15 minutes, and ends the links before it.",
    )
    .option("--email <address>", "the owner's e-mail address", firstOwner)
    .option("--data <directory>", "the data directory (default ~/.hawser-server)")
    .action(async (options: { data?: string; email: string }) => {
      const data = resolve(dataDirectory(options.data));
      if (!runningUp(data)) {
        throw new CommandFailed(
          `Hawser does not run with the data in ${data}. To start it: ${commandFor(data, "up")}`,
        );
      }
      const { url, email } = await makeLink({ data, pack: packageDirectory() }, options.email);
      printText(safeText(url));
      printNotice(`It signs ${email} in, once, within 15 minutes.`);
    });
}

/** undefined if the first owner signs in otherwise, or is no owner any more. */
export async function linkOfFirstOwner({
  say,
  ...place
}: Place & { say: (sentence: string) => void }): Promise<string | undefined> {
  try {
    return (await makeLink(place, firstOwner)).url;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    if (!/has a password or a passkey|No owner has/.test(error.message)) say(error.message);
    return undefined;
  }
}

function makeLink({ data, pack }: Place, email: string): Promise<MadeLink> {
  const { postgresUrl, url = "" } = readSettings(data);
  const { nodeUrl } = postgresUrl ? companyDatabase(data, postgresUrl) : ownDatabase(data);
  return runControlPlane<MadeLink>(
    { dataDirectory: data, packageDirectory: pack },
    ["sign-in-link", "--email", email],
    { HAWSER_DATABASE_URL: nodeUrl, HAWSER_BASE_URL: url },
  );
}
