// `hawser up`: starts PostgreSQL, nats-server, a node of the control plane and this machine's daemon, and keeps
// them running until it is stopped.
import { resolve } from "node:path";
import type { Command } from "commander";
import { dataDirectory } from "../settings.ts";
import type { UpOptions } from "./options.ts";
import { installService } from "./service.ts";
import { startAll } from "./start.ts";

export function addUp(program: Command): void {
  program
    .command("up")
    .description("start the whole product on this machine, until Ctrl-C")
    .option("--data <directory>", "where everything is stored (default ~/.hawser-server)")
    .option(
      "--listen <host:port>",
      "where the service listens (default 127.0.0.1:7433); remembered",
    )
    .option("--url <address>", "the https:// address that other machines use; remembered")
    .option("--root <directory>", "let agents work in this directory; repeatable", collect, [])
    .option("--no-host", "do not make this machine a host")
    .option("--yes", "ask nothing")
    .option("--json", "print one line of JSON when ready, and everything else on standard error")
    .option("--postgres-url <address>", "use this PostgreSQL instead of an own one; remembered")
    .option("--nats-url <address>", "use this NATS instead of an own one; remembered")
    .option(
      "--nats-websocket <host:port>",
      "the WebSocket address of that NATS (default port 4280)",
    )
    .option("--upgrade-database", "move the data to the newest PostgreSQL of this machine first")
    .option("--service", "run it as a service of this user's systemd, also after a reboot")
    .action(async (options: UpOptions) => {
      const data = resolve(dataDirectory(options.data));
      if (options.service) await installService(data, options);
      else await startAll(data, options);
    });
}

const collect = (value: string, former: string[]) => [...former, resolve(value)];
