// What a repository's own configuration may do: nothing that runs a program, reads other files as
// configuration, or leads traffic elsewhere. Agents write to .git/config, so every repository is
// taken for hostile. What can be switched off is, and the user's own value of it holds again; a
// repository that says what cannot be switched off is refused.
//
// Judged harmless, with the reason: aliases (built-in commands win over them), settings of commands
// that we never run (difftool, mergetool, trailer, guitool, sendemail, interactive, tar, pager), those
// git takes from the user only (safe.directory, uploadpack.packObjectsHook), those an environment
// variable of ours outranks (core.sshCommand, core.askPass, core.editor, sequence.editor, ssh.variant,
// protocol.*), core.attributesFile (it can name filters, and those are switched off), init.templateDir
// (a clone is made outside of repositories), submodule.* (we never go into one) and extensions.*.

export interface ConfigEntry {
  scope: string;
  /** As git prints it: section and variable in lower case, the subsection as written. */
  name: string;
  value: string;
}

type Setting = [name: string, value: string];

export interface Judgement {
  /** To be put on top of what the repository says. */
  settings: Setting[];
  /** Names that forbid working in this repository. */
  refused: string[];
}

const refused: readonly RegExp[] = [
  // Other files as configuration, which may change between the look and the use.
  /^include(?:if)?\./,
  // Leads a fetch or a push elsewhere.
  /^url\./,
  /^core\.worktree$/,
  /^remote\.(?:.*\.)?(?:vcs|proxy)$/,
  /^fetch\.bundleuri$/,
  // Proxies, certificates, headers and cookie files, but for what only tunes a transfer.
  /^http\.(?!(?:.*\.)?(?:postbuffer|lowspeedlimit|lowspeedtime|maxrequests|minsessions|version)$)/,
  // Programs without a value that means "none".
  /^core\.(?:alternaterefscommand|virtualfilesystem)$/,
];

/** Programs, and what to say instead of them. */
const replaced: readonly [RegExp, string][] = [
  [/^filter\..*\.(?:clean|smudge|process)$/, ""],
  [/^filter\..*\.required$/, "false"],
  [/^remote\..*\.uploadpack$/, "git-upload-pack"],
  [/^remote\..*\.receivepack$/, "git-receive-pack"],
  // Fails, so that a merge would end in a conflict and not in silence.
  [/^merge\..*\.driver$/, "false"],
  [/^diff\.(?:.*\.)?(?:external|command|textconv)$/, ""],
  [/^core\.(?:askpass|editor|gitproxy|sshcommand)$/, ""],
  [/^gpg\.(?:.*\.)?(?:program|defaultkeycommand)$/, ""],
  // Orders to the server, with the user's credentials: some make a repository public by one. An empty
  // one forgets all before it.
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
    // An empty helper forgets all before it, also those for one address.
    settings.push(["credential.helper", ""]);
    restore((name) => credentialHelper.test(name));
  }
  return {
    settings,
    refused: [...names].filter((name) => refused.some((pattern) => pattern.test(name))),
  };
}

/** What `git config --null --show-scope --list` prints. */
export function parseConfigList(text: string): ConfigEntry[] {
  const parts = text.split("\0");
  const entries: ConfigEntry[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [name, ...value] = parts[i + 1]!.split("\n");
    entries.push({ scope: parts[i]!, name: name!, value: value.join("\n") });
  }
  return entries;
}
