// The kinds of agents that a daemon runs, with the logins of its user and with people's own accounts.
import { homedir } from "node:os";
import { join } from "node:path";
import { accessOf } from "./drivers/claude-code/access.ts";
import { createClaudeDriver } from "./drivers/claude-code/driver.ts";
import { createClaudeLogin } from "./drivers/claude-code/login.ts";
import { createCodexDriver } from "./drivers/codex/driver.ts";
import { createCodexLogin } from "./drivers/codex/login.ts";
import type { Driver } from "./drivers/driver.ts";
import { createOpencodeDriver } from "./drivers/opencode/driver.ts";
import { makeStartId } from "./drivers/start-id.ts";
import { temporaryIn } from "./drivers/temporary-directories.ts";
import { agentGitEnvironment } from "./git/agent-git.ts";
import type { AccountKinds } from "./identities/identities.ts";
import { protectedPaths } from "./policy/protected-paths.ts";
import type { DriverGiven } from "./work.ts";

const settingsFor = ({ stateDirectory, log }: DriverGiven) => ({
  environment: agentGitEnvironment,
  temporaryDirectory: temporaryIn(stateDirectory),
  newStartId: () => makeStartId(stateDirectory),
  log,
});

/** The kinds of agents that this daemon runs, each with the login and settings of the daemon's user. */
export const openDrivers = (given: DriverGiven): Driver[] => {
  const { stateDirectory, findAgent, log } = given;
  const common = settingsFor(given);
  return [
    createOpencodeDriver({
      program: () => findAgent("opencode"),
      stateFile: join(stateDirectory, "opencode-server.json"),
      environment: agentGitEnvironment,
      log,
    }),
    createClaudeDriver({
      ...common,
      program: () => findAgent("claude_code"),
      quotaFile: join(stateDirectory, "quota-claude_code.json"),
    }),
    createCodexDriver({
      ...common,
      program: () => findAgent("codex"),
      home: join(homedir(), ".codex"),
      quotaFile: join(stateDirectory, "quota-codex.json"),
      userHome: homedir(),
      closed: protectedPaths(stateDirectory),
    }),
  ];
};

/** The kinds that people can use with accounts of their own. */
export const openAccounts = (given: DriverGiven): AccountKinds => {
  const { stateDirectory, findAgent } = given;
  const common = settingsFor(given);
  const claude = { ...common, program: () => findAgent("claude_code") };
  const codex = { ...common, program: () => findAgent("codex") };
  return {
    claude_code: {
      login: createClaudeLogin(claude),
      credentialsFile: ".credentials.json",
      // Claude Code does not report it.
      lastsDays: 30,
      keepsFormerLogin: false,
      open: ({ home, quotaFile }, access) =>
        createClaudeDriver({
          ...claude,
          quotaFile,
          access: () => accessOf(home, access()),
          environment: { ...common.environment, CLAUDE_CONFIG_DIR: home },
        }),
    },
    codex: {
      login: createCodexLogin(codex),
      credentialsFile: "auth.json",
      lastsDays: null,
      keepsFormerLogin: true,
      open: ({ home, quotaFile }, access) =>
        createCodexDriver({
          ...codex,
          home,
          gateway: () => access().baseUrl ?? undefined,
          quotaFile,
          userHome: homedir(),
          closed: protectedPaths(stateDirectory),
        }),
    },
  };
};
