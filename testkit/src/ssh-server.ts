// A real OpenSSH server on a loopback port, which accepts one key and serves only the bare repositories in a
// directory. Its `ssh` is the machine's own client with the server's address and the key as options:
// without them, the client would read its settings from the developer's home.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { removeDirectory } from "./remove-directory.ts";
import { stopProcess } from "./stop-process.ts";
import { until } from "./until.ts";

export interface SshServer extends AsyncDisposable {
  pid: number;
  port: number;
  /** For a host's PATH: an `ssh` with the server's key and the user's key. */
  clientDirectory: string;
  /** The same without the user's key: it trusts the server, which refuses it. */
  strangerDirectory: string;
  log(): string;
}

export interface SshServerOptions {
  /** The directory of `owner/name.git`. */
  directory: string;
  /** Host names that lead to this server, such as github.com. */
  hosts?: readonly string[];
}

const sshd = "/usr/sbin/sshd";

export async function startSshServer({
  directory,
  hosts = ["127.0.0.1"],
}: SshServerOptions): Promise<SshServer> {
  await using startup = new AsyncDisposableStack();
  const place = mkdtempSync(join(tmpdir(), "hawser-ssh-"));
  startup.defer(() => removeDirectory(place));
  const at = (name: string) => join(place, name);
  const port = await freePort();
  for (const name of ["host-key", "user-key", "other-key"]) {
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(name)]);
  }
  writeScript(at("serve"), servesOnly(directory));
  writeFileSync(at("authorized-keys"), readFileSync(at("user-key.pub")));
  writeFileSync(at("sshd.conf"), serverSettings(port, at));
  const hostKey = readFileSync(at("host-key.pub"), "utf8");
  const names = hosts.flatMap((host) => [host, `[${host}]:${port}`]).join(",");
  writeFileSync(at("known-hosts"), `${names} ${hostKey}`);
  const clients = { client: "user-key", stranger: "other-key" };
  for (const [name, key] of Object.entries(clients)) {
    writeFileSync(at(`${name}.conf`), clientSettings(port, hosts, at(key), at("known-hosts")));
    mkdirSync(at(name));
    writeScript(at(`${name}/ssh`), clientCommand(at(`${name}.conf`)));
  }

  // sshd needs this empty directory if it runs as root; its service makes it at each boot.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  const child = spawn(
    "setpriv",
    ["--pdeathsig=TERM", "--", sshd, "-D", "-e", "-f", at("sshd.conf")],
    { stdio: ["ignore", "ignore", "pipe"], env: { PATH: process.env["PATH"] } },
  );
  startup.defer(() => stopProcess(child));
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log = (log + chunk.toString()).slice(-50_000)));
  await until("sshd listens", () => {
    if (child.exitCode !== null) throw new Error(`sshd ended at once.\n${log}`);
    return answers(port);
  });
  const owned = startup.move();
  return {
    pid: child.pid!,
    port,
    clientDirectory: at("client"),
    strangerDirectory: at("stranger"),
    log: () => log,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function serverSettings(port: number, at: (name: string) => string): string {
  return `ListenAddress 127.0.0.1:${port}
HostKey ${at("host-key")}
PidFile none
AuthorizedKeysFile ${at("authorized-keys")}
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
AcceptEnv GIT_PROTOCOL
AllowTcpForwarding no
PermitTTY no
ForceCommand ${at("serve")}
ClientAliveInterval 5
ClientAliveCountMax 2
`;
}

function clientSettings(
  port: number,
  hosts: readonly string[],
  key: string,
  knownHosts: string,
): string {
  return `Host ${hosts.join(" ")}
  HostName 127.0.0.1
  Port ${port}
  HostKeyAlias ${hosts[0]}
  IdentityFile ${key}
  IdentitiesOnly yes
  UserKnownHostsFile ${knownHosts}
  StrictHostKeyChecking yes
`;
}

/** The machine's ssh with our options. The server's user is the one who runs the tests, instead of `git`. */
function clientCommand(settings: string): string {
  return `for argument; do
  shift
  case $argument in git@*) argument=${userInfo().username}@\${argument#git@} ;; esac
  set -- "$@" "$argument"
done
exec /usr/bin/ssh -F ${settings} "$@"
`;
}

function servesOnly(directory: string): string {
  return `path=$(printf %s "$SSH_ORIGINAL_COMMAND" | sed -n "s|^git-[a-z]*-pack '/*\\([A-Za-z0-9._/-]*\\)'$|\\1|p")
case $path in '' | *..*) echo 'Only repositories are served here.' >&2 && exit 1 ;; esac
case $SSH_ORIGINAL_COMMAND in
  git-upload-pack*) exec git upload-pack --strict "${directory}/$path" ;;
  git-receive-pack*) exec git receive-pack "${directory}/$path" ;;
esac
exit 1
`;
}

function writeScript(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}`, { mode: 0o755 });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("data", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });
}
