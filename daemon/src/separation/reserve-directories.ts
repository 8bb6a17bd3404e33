// Codex's sandbox needs the directory /tmp/codex-daemon-<uid>, whatever the settings say, and refuses one of another
// user. In /tmp, agents of one person could make that of another one first. So all are made when the front starts.
import type { Log } from "../log.ts";
import type { UnixUser } from "./separation.ts";
import { runBySudo } from "./worker-process.ts";

const script =
  'cd /tmp && umask 077 && name=codex-daemon-$(id -u) && mkdir -p "$name" && test -O "$name"';

export async function reserveDirectories(users: readonly UnixUser[], log: Log): Promise<void> {
  for (const { user } of users) {
    if ((await runBySudo(user, "sh", "-c", script)) === 0) continue;
    log.warn("codex cannot run as this user: its directory in /tmp belongs to another one", {
      user,
    });
  }
}
