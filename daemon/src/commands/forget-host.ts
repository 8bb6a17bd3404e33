// forget_host: the instance is gone, so the credentials go, and then the daemon.
import type { Command } from "./command.ts";

export const forgetHost: Command<"forget_host"> = {
  repeatable: true,
  endsHost: true,
  run(_payload, { forgetCredentials }) {
    forgetCredentials();
    return {};
  },
};
