// What may be cloned, and into a directory of which name. These texts end up as operands of git on
// a host, so whatever git or ssh could take for an option, a command or a local file is refused
// here, before any host is asked. Pure functions: the daemon asks the same ones again.
import { z } from "zod";

/** Why a text is refused, as the rest of a sentence that begins with the field; null when it is fine. */
export type Objection = string | null;

// Control, format and unassigned characters, lone surrogates, and every kind of white space.
const unprintable = /[\p{C}\p{Z}]/u;
const encodedControl = /%(?:[01][0-9a-f]|7f)/i;
const host = String.raw`(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])`;
const user = String.raw`[A-Za-z0-9_][A-Za-z0-9._+-]*`;
const httpsUrl = new RegExp(`^https://${host}(?::[0-9]{1,5})?/(?<path>.+)$`, "u");
const sshUrl = new RegExp(`^ssh://(?:${user}@)?${host}(?::[0-9]{1,5})?/(?<path>.+)$`, "u");
// The short form must name a user: without one, `ext:x` or `C:x` would look like a host.
const scpLike = new RegExp(`^${user}@${host}:(?<path>[^:-].*)$`, "u");
const credentials = /^(?:https:\/\/[^/]*@|ssh:\/\/[^/@]*:[^/]*@)/;

/** Judges a clone address: https, ssh, or ssh in its short form `git@host:path`. */
export function objectToCloneUrl(url: string): Objection {
  if (url.length > 2048) return "must have at most 2048 characters";
  if (unprintable.test(url) || url.includes("\\") || encodedControl.test(url)) {
    return "must not hold spaces, control characters or backslashes, encoded or not";
  }
  if (credentials.test(url)) {
    return "must not carry credentials; cloning uses those present on the host";
  }
  const path = (httpsUrl.exec(url) ?? sshUrl.exec(url) ?? scpLike.exec(url))?.groups?.path;
  if (path === undefined) {
    return "must be an https:// or ssh:// address, or one of the form git@host:path";
  }
  return objectToCheckoutName(nameOfRepository(path)) === null
    ? null
    : "must end in a repository name";
}

/** Judges the name of the directory a checkout is put into. */
export function objectToCheckoutName(name: string): Objection {
  if (name === "") return "must not be empty";
  if (new TextEncoder().encode(name).length > 255) return "must have at most 255 bytes";
  if (/[\p{C}\p{Zl}\p{Zp}/\\]/u.test(name)) {
    return "must be a single directory name, without slashes or control characters";
  }
  if (name.startsWith("-")) return "must not begin with a hyphen";
  if (/[.\s]$/u.test(name)) return "must not end in a dot or a space";
  // Some file systems fold case, and one of them knows .git under a short name too.
  if (/^(?:\.git|git~[0-9]+)$/i.test(name)) return "must not be git's own directory";
  return null;
}

/** Judges a hosted repository's name of the form owner/name. */
export function objectToHostedRepository(repo: string): Objection {
  if (!new RegExp(hostedRepositoryPattern).test(repo)) return "must be of the form owner/name";
  return objectToCheckoutName(repo.slice(repo.indexOf("/") + 1)) === null
    ? null
    : "must be the name of a repository";
}

const hostedRepositoryPattern =
  "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._][A-Za-z0-9._-]{0,99}$";

/** The repository's own name, which its checkout gets unless the caller gives another. */
export function nameOfRepository(source: string): string {
  const path = source.replace(/\/+$/, "").replace(/\/\.git$/, "");
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf(":")) + 1);
  return name.length > 4 && name.endsWith(".git") ? name.slice(0, -4) : name;
}

/** A string that the given function has no objection to. */
function unobjectionable(object: (text: string) => Objection) {
  return z.string().check((context) => {
    const objection = object(context.value);
    if (objection !== null) {
      context.issues.push({ code: "custom", input: context.value, message: objection });
    }
  });
}

/** A clone address in an action's body. */
export const CloneUrl = unobjectionable(objectToCloneUrl).meta({
  description: "A clone address: https, ssh, or git@host:path. It must not hold credentials.",
});

/** A hosted repository in an action's body. */
export const HostedRepository = unobjectionable(objectToHostedRepository).meta({
  description: "A repository of the code-hosting provider, written owner/name.",
  pattern: hostedRepositoryPattern,
});

/** A checkout's directory name in an action's body; an empty one counts as not given. */
export const CheckoutName = unobjectionable((name) =>
  name === "" ? null : objectToCheckoutName(name),
).meta({ description: "The checkout's directory name; the repository's own name when left out." });
