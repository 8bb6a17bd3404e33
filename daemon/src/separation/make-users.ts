// Makes the Unix users of a separated host, and lets the front start programs as them, and as no one else. Runs as
// root, when an administrator installs the host. A second run adds users, and changes nothing else.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { readJson, separationPath } from "../state/state.ts";
import { replaceFile } from "../state/replace-file.ts";
import type { Separation, UnixUser } from "./separation.ts";

export interface WantedUsers {
  /** The directory of the front, which has the programs already. */
  directory: string;
  /** The user of the front. The users of people have this name and a number. */
  name: string;
  own: string;
  people: number;
}

/** What an administrator can solve. */
export class CannotSeparate extends Error {}

interface Account {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/** Variables of the front that its workers get too. */
const passedOn = `LANG LC_ALL TZ SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
  http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY`.replace(/\s+/g, " ");

export function makeUsers({ directory, name, own, people }: WantedUsers): Separation {
  if (process.getuid?.() !== 0) throw new CannotSeparate("Run this as root.");
  for (const program of ["sudo", "useradd", "visudo"]) {
    if (run("sh", "-c", `command -v ${program}`).status === 0) continue;
    const cure = program === "useradd" ? "passwd" : "sudo";
    throw new CannotSeparate(`${program} is missing. Install it: apt-get install ${cure}`);
  }
  const ownAccount = findAccount(own);
  if (!ownAccount) throw new CannotSeparate(`There is no user ${own}. Make it with useradd.`);
  if (ownAccount.uid === 0) {
    throw new CannotSeparate(
      "The agents that use the host's own logins must not run as root. Name another user.",
    );
  }
  if (own === name || new RegExp(`^${name}-\\d+$`).test(own)) {
    throw new CannotSeparate(`${own} is a user of Hawser itself. Name another user.`);
  }
  const places = `${directory}-users`;
  if (!existsSync(places)) mkdirSync(places, { mode: 0o755 });
  const least = leastOwner(places, name);
  const front = findAccount(name) ?? makeAccount(name, directory, least);
  const { uid } = statSync(directory);
  if (uid === 0 && resolve(front.home) !== resolve(directory)) {
    throw new CannotSeparate(
      `There is a user ${name} already, with the home ${front.home}. The daemon needs a user that nobody else uses. Name another with --name.`,
    );
  }
  if (uid !== 0 && uid !== front.uid) {
    throw new CannotSeparate(`${directory} belongs neither to root nor to ${name}.`);
  }
  const numbers = knownNumbers(directory, name).filter((number) =>
    existsSync(join(places, `${name}-${number}`)),
  );
  const next = highestNumber(places, name) + 1;
  for (let number = next; numbers.length < people; number++) numbers.push(number);
  const users = numbers.map((number) => {
    const user = `${name}-${number}`;
    const home = join(places, user);
    makeHome(home, findAccount(user) ?? makeAccount(user, home, least));
    return { user, state: join(home, ".hawser") };
  });
  const ownState = join(places, own);
  makeDirectory(ownState, ownAccount);
  const separation: Separation = { own: { user: own, state: ownState }, people: users };
  allowStarting(name, [separation.own, ...separation.people]);
  if (uid === 0) {
    replaceFile(separationPath(directory), separation);
    // First: once the directory is the front's, a second run does not come here.
    chmodSync(directory, 0o711);
    // What root has placed there becomes the front's own, so that it can update itself.
    must({ input: "" }, "chown", "--recursive", "-P", "--no-dereference", `${name}:`, directory);
  } else {
    writeAs(name, separationPath(directory), `${JSON.stringify(separation)}\n`);
  }
  return separation;
}

/** The front can write the file, so root believes nothing but numbers in it. */
function knownNumbers(directory: string, name: string): number[] {
  const people: unknown = readJson(separationPath(directory))?.["people"];
  const listed = Array.isArray(people) ? (people as ({ user?: unknown } | null)[]) : [];
  const found = listed.map((each) => numberIn(each?.user, name));
  return [...new Set(found.filter((number) => number !== undefined))];
}

/**
 * The highest number that a user or a home has. Users of an installation that was removed are not used again: their
 * files, wherever they are, would be those of another person.
 */
function highestNumber(places: string, name: string): number {
  const users = run("getent", "passwd")
    .stdout.split("\n")
    .map((line) => line.split(":")[0]);
  const found = [...users, ...readdirSync(places)].map((each) => numberIn(each, name) ?? 0);
  return Math.max(0, ...found);
}

function numberIn(user: unknown, name: string): number | undefined {
  const isText = typeof user === "string" && user.startsWith(`${name}-`);
  const digits = isText ? user.slice(name.length + 1) : "";
  return /^[1-9]\d{0,4}$/.test(digits) ? Number(digits) : undefined;
}

function findAccount(name: string): Account | undefined {
  const found = run("getent", "passwd", name);
  if (found.status !== 0) return undefined;
  const [, , uid, gid, , home = ""] = found.stdout.trim().split(":");
  return { name, uid: Number(uid), gid: Number(gid), home };
}

/**
 * The lowest uid of those homes. When a user was deleted, the system gives its uid to the next one that is made, who
 * would own the files of another person: so new users get lower ones.
 */
function leastOwner(places: string, name: string): number | undefined {
  const homes = readdirSync(places).filter((each) => numberIn(each, name) !== undefined);
  const owners = homes.map((each) => lstatSync(join(places, each)).uid).filter((uid) => uid > 0);
  return owners.length > 0 ? Math.min(...owners) : undefined;
}

/** If the home exists, its user was deleted, and gets the same uid again. */
function makeAccount(name: string, home: string, least: number | undefined): Account {
  const former = lstatSync(home, { throwIfNoEntry: false })?.uid ?? 0;
  const number = former > 0 ? ["--uid", `${former}`] : [];
  if (former === 0 && least !== undefined) number.push("--key", `SYS_UID_MAX=${least - 1}`);
  const shell = "/usr/sbin/nologin";
  const place = ["--no-create-home", "--home-dir", home, ...number];
  const made = run("useradd", "--system", "--user-group", ...place, "--shell", shell, name);
  const account = findAccount(name);
  if (account) return account;
  throw new CannotSeparate(`The user ${name} could not be made. ${made.stderr.trim()}`);
}

/** The home of a new user. One that exists is not touched: its user could have put links to other files there. */
function makeHome(home: string, account: Account): void {
  if (existsSync(home)) return;
  mkdirSync(home, { mode: 0o700 });
  makeDirectory(join(home, ".hawser"), account);
  chownSync(home, account.uid, account.gid);
}

/** A directory of this user alone, in one of root. */
function makeDirectory(path: string, { uid, gid }: Account): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
  // An earlier run may have been ended before it gave the directory away.
  if (lstatSync(path).uid === 0) chownSync(path, uid, gid);
}

/** Root does not write in a directory of another user: a link there would lead it elsewhere. */
function writeAs(user: string, path: string, text: string): void {
  const script = 'umask 077; cat > "$1.next" && mv "$1.next" "$1"';
  must({ input: text }, "runuser", "-u", user, "--", "sh", "-c", script, "sh", path);
}

/** The file is placed only if sudo can read it: a bad one would lock everybody out of sudo. */
function allowStarting(front: string, users: readonly UnixUser[]): void {
  const file = `/etc/sudoers.d/${front}`;
  const next = `${file}.next`;
  const names = users.map(({ user }) => user).join(", ");
  const text = `# Written by Hawser. Its daemon runs as ${front} and starts agents as these users, and as no other.
Defaults:${front} !requiretty, !use_pty, !pam_session, !pam_setcred, !lecture
Defaults:${front} env_keep += "${passedOn}"
${front} ALL=(${names}) NOPASSWD: ALL
`;
  writeFileSync(next, text, { mode: 0o440 });
  const checked = run("visudo", "--check", "--file", next);
  if (checked.status !== 0) {
    rmSync(next, { force: true });
    throw new CannotSeparate(`sudo does not accept its settings. ${checked.stderr.trim()}`);
  }
  renameSync(next, file);
}

function run(program: string, ...args: string[]) {
  return spawnSync(program, args, { encoding: "utf8", cwd: "/" });
}

function must(given: { input: string }, program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8", cwd: "/", ...given });
  if (status !== 0) throw new CannotSeparate(`${program} failed. ${stderr.trim()}`);
}
