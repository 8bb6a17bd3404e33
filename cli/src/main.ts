#!/usr/bin/env node
// The command hawser. Each command is one file that adds itself to the program.
import { Command, CommanderError } from "commander";
import { notProxied } from "@hawser/daemon/proxies.ts";
import { daemonVersion } from "@hawser/daemon/release.ts";
import { addBackup, addRestore } from "./backup/commands.ts";
import { addCall } from "./call.ts";
import { CommandFailed } from "./command-failed.ts";
import { addDemo } from "./demo/demo.ts";
import { addLogin, addLogout } from "./login.ts";
import { addPick } from "./pick.ts";
import { printNotice } from "./terminal.ts";
import { addDb } from "./up/db-url.ts";
import { addDown } from "./up/down.ts";
import { addLogs } from "./up/logs.ts";
import { addSignInLink } from "./up/sign-in-link.ts";
import { addStatus } from "./up/status.ts";
import { addUp } from "./up/up.ts";
import { addUpload } from "./upload.ts";
import { addWatch } from "./watch.ts";

// With NODE_USE_ENV_PROXY, a proxy would be sent the owner's key of this machine's service.
process.env["no_proxy"] = notProxied(process.env);

const program = new Command("hawser")
  .description("The control plane for coding agents on your own hosts.")
  .version(daemonVersion)
  .showHelpAfterError('("hawser --help" lists the commands)')
  .exitOverride();
// In the order of the help.
addUp(program);
addStatus(program);
addDown(program);
addLogs(program);
addSignInLink(program);
addDemo(program);
addLogin(program);
addLogout(program);
addCall(program);
addWatch(program);
addUpload(program);
addPick(program);
addBackup(program);
addRestore(program);
addDb(program);

// A reader such as head has closed the pipe.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(141);
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed the sentence. Help that was asked for is no mistake.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else if (error instanceof CommandFailed) {
    printNotice(error.message);
    process.exitCode = error.exitCode;
  } else {
    throw error;
  }
}
