// Which repositories may be cloned, and which names their directories may have. Git on a host receives
// these texts as arguments. Anything that git or ssh could read as an option, a command or a local file
// is refused here, before a host is asked. The daemon runs the same functions again.
import { z } from "zod";

/** Why a text is refused, as the rest of a sentence that begins with the field; null if it is valid. */
export type Objection = string | null;

// Control, format and unassigned characters, lone surrogates, and every kind of white space.
const unprintable = /[\p{C}\p{Z}]/u;
const encodedControl = /%(?:[01][0-9a-f]|7f)/i;
const host = String.raw`(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])`;
const user = String.raw`[A-Za-z0-9_][A-Za-z0-9._+-]*`;
const plainUrl = new RegExp(`^(?:https?|git)://${host}(?::[0-9]{1,5})?/(?<path>.+)$`, "u");
const sshUrl = new RegExp(`^ssh://(?:${user}@)?${host}(?::[0-9]{1,5})?/(?<path>.+)$`, "u");
// The short form must name a user: without one, `ext:x` or `C:x` would look like a host.
const scpLike = new RegExp(`^${user}@${host}:(?<path>[^:-].*)$`, "u");
const credentials = /^(?:(?:https?|git):\/\/[^/]*@|ssh:\/\/[^/@]*:[^/]*@)/;

/**
 * Validates a clone address: https, ssh, or the short form of ssh, `git@host:path`. Accepts http and git too:
 * whether they may be used is decided by the policy file of the host.
 */
export function objectToCloneUrl(url: string): Objection {
  if (url.length > 2048) return "must have at most 2048 characters";
  if (unprintable.test(url) || url.includes("\\") || encodedControl.test(url)) {
    return "must not hold spaces, control characters or backslashes, encoded or not";
  }
  if (credentials.test(url)) {
    return "must not carry credentials; cloning uses those present on the host";
  }
  const path = (plainUrl.exec(url) ?? sshUrl.exec(url) ?? scpLike.exec(url))?.groups?.path;
  if (path === undefined) {
    return "must be an https://, ssh://, http:// or git:// address, or one of the form git@host:path";
  }
  return objectToCheckoutName(nameOfRepository(path)) === null
    ? null
    : "must end in a repository name";
}

/** True if the address is transferred without encryption: http or git. */
export const isInsecureCloneUrl = (url: string) => /^(?:http|git):\/\//.test(url);

/** Validates the name of a checkout's directory. */
export function objectToCheckoutName(name: string): Objection {
  if (name === "") return "must not be empty";
  if (new TextEncoder().encode(name).length > 255) return "must have at most 255 bytes";
  if (/[\p{C}\p{Zl}\p{Zp}/\\]/u.test(name)) {
    return "must be a single directory name, without slashes or control characters";
  }
  if (name.startsWith("-")) return "must not begin with a hyphen";
  if (/[.\s]$/u.test(name)) return "must not end in a dot or a space";
  // Some file systems ignore case, and one of them also has a short name for .git.
  if (/^(?:\.git|git~[0-9]+)$/i.test(name)) return "must not be git's own directory";
  return null;
}

/** Validates a hosted repository's name of the form owner/name. */
export function objectToHostedRepository(repo: string): Objection {
  if (!new RegExp(hostedRepositoryPattern).test(repo)) return "must be of the form owner/name";
  return objectToCheckoutName(repo.slice(repo.indexOf("/") + 1)) === null
    ? null
    : "must be the name of a repository";
}

const hostedRepositoryPattern = "^[A-Za-z0-9][\\w-]{0,99}/[\\w.][\\w.-]{0,99}$";

/** The repository's own name, the default name of its checkout. */
export function nameOfRepository(source: string): string {
  const path = source.replace(/\/+$/, "").replace(/\/\.git$/, "");
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf(":")) + 1);
  return name.length > 4 && name.endsWith(".git") ? name.slice(0, -4) : name;
}

/** A string that the function accepts. */
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
  description: "https, ssh or git@host:path, without credentials.",
});

/** A hosted repository in an action's body. */
export const HostedRepository = unobjectionable(objectToHostedRepository).meta({
  description: "Written owner/name.",
  pattern: hostedRepositoryPattern,
});

/** A checkout's directory name in an action's body; an empty one counts as omitted. */
export const CheckoutName = unobjectionable((name) =>
  name === "" ? null : objectToCheckoutName(name),
).meta({ description: "Its directory's name; default: the repository's." });
