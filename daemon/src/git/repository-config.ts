// Limits what a repository's own configuration may do: it must not run a program, include other files, or
// redirect traffic. Agents write to .git/config, so every repository counts as hostile. Settings that can
// be switched off are, and the user's own values apply again. A repository with other dangerous settings
// is refused.
//
// These settings are harmless: aliases (built-in commands win over them), settings of commands that we never
// run (difftool, mergetool, trailer, guitool, sendemail, interactive, tar, pager), those that git reads from
// the user only (safe.directory, uploadpack.packObjectsHook), those that an environment variable of ours
// overrides (core.sshCommand, core.askPass, core.editor, sequence.editor, ssh.variant, protocol.*),
// core.attributesFile (it can name filters, which are switched off), init.templateDir (a clone is made
// outside of repositories), submodule.* (we never enter one) and extensions.*.

export interface ConfigEntry {
  scope: string;
  /** As git prints it: section and variable in lower case, the subsection as it is written. */
  name: string;
  value: string;
}

type Setting = [name: string, value: string];

export interface Judgement {
  /** Settings that override the repository's. */
  settings: Setting[];
  /** Settings that forbid working in this repository. */
  refused: string[];
}

const refused: readonly RegExp[] = [
  // Includes other files, which may change between the check and the command.
  /^include(?:if)?\./,
  // Redirects a fetch or a push.
  /^url\./,
  /^core\.worktree$/,
  /^remote\.(?:.*\.)?(?:vcs|proxy)$/,
  /^fetch\.bundleuri$/,
  // Proxies, certificates, headers and cookie files; settings that only tune a transfer are allowed.
  /^http\.(?!(?:.*\.)?(?:postbuffer|lowspeedlimit|lowspeedtime|maxrequests|minsessions|version)$)/,
  // Programs that cannot be set to "none".
  /^core\.(?:alternaterefscommand|virtualfilesystem)$/,
];

/** Programs, and the values that replace them. */
const replaced: readonly [RegExp, string][] = [
  [/^filter\..*\.(?:clean|smudge|process)$/, ""],
  [/^filter\..*\.required$/, "false"],
  [/^remote\..*\.uploadpack$/, "git-upload-pack"],
  [/^remote\..*\.receivepack$/, "git-receive-pack"],
  // Fails, so that a merge ends in a conflict instead of doing nothing.
  [/^merge\..*\.driver$/, "false"],
  [/^diff\.(?:.*\.)?(?:external|command|textconv)$/, ""],
  [/^core\.(?:askpass|editor|gitproxy|sshcommand)$/, ""],
  [/^gpg\.(?:.*\.)?(?:program|defaultkeycommand)$/, ""],
  // Options sent to the server with the user's credentials; one of them makes a repository public. An empty
  // one clears all before it.
  [/^push\.pushoption$/, ""],
];

const credentialHelper = /^credential\.(?:.*\.)?helper$/;
const hook = /^(hook\..*)\.[^.]+$/;

export function judgeConfig(entries: readonly ConfigEntry[]): Judgement {
  const isOwners = ({ scope }: ConfigEntry) => scope === "system" || scope === "global";
  const owners = entries.filter(isOwners);
  const names = new Set(
    entries
      .filter((entry) => !isOwners(entry) && entry.scope !== "command")
      .map(({ name }) => name),
  );
  const settings: Setting[] = [];
  const restore = (matches: (name: string) => boolean) => {
    for (const { name, value } of owners) if (matches(name)) settings.push([name, value]);
  };
  for (const name of names) {
    const value = replaced.find(([pattern]) => pattern.test(name))?.[1];
    if (value !== undefined) {
      settings.push([name, value]);
      restore((other) => other === name);
    }
    const [, hookName] = hook.exec(name) ?? [];
    if (hookName !== undefined) settings.push([`${hookName}.enabled`, "false"]);
  }
  if ([...names].some((name) => credentialHelper.test(name))) {
    // An empty helper clears all before it, also those for one address.
    settings.push(["credential.helper", ""]);
    restore((name) => credentialHelper.test(name));
  }
  return {
    settings,
    refused: [...names].filter((name) => refused.some((pattern) => pattern.test(name))),
  };
}

/** Parses the output of `git config --null --show-scope --list`. */
export function parseConfigList(text: string): ConfigEntry[] {
  const parts = text.split("\0");
  const entries: ConfigEntry[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [name, ...value] = parts[i + 1]!.split("\n");
    entries.push({ scope: parts[i]!, name: name!, value: value.join("\n") });
  }
  return entries;
}
