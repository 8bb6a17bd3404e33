// Every command there is, under the name it has on the wire.
import type { HostCommand } from "@hawser/host-protocol";
import { abortTurn } from "./abort-turn.ts";
import { answerRequest } from "./answer-request.ts";
import { browseDirectory } from "./browse-directory.ts";
import { cloneRepository } from "./clone-repository.ts";
import type { Command } from "./command.ts";
import { describeSession } from "./describe-session.ts";
import { diffSessionFile } from "./diff-session-file.ts";
import { diffSession } from "./diff-session.ts";
import { endSession } from "./end-session.ts";
import { forgetHost } from "./forget-host.ts";
import { installAgent } from "./install-agent.ts";
import { listAgentKinds } from "./list-agent-kinds.ts";
import { listAgents } from "./list-agents.ts";
import { listDirectories } from "./list-directories.ts";
import { listGithubRepos } from "./list-github-repos.ts";
import { listModels } from "./list-models.ts";
import { listParkedSessions } from "./list-parked-sessions.ts";
import { pushSession } from "./push-session.ts";
import { refreshHostFacts } from "./refresh-host-facts.ts";
import { renameSession } from "./rename-session.ts";
import { restartAgent } from "./restart-agent.ts";
import { restoreSession } from "./restore-session.ts";
import { revertSession } from "./revert-session.ts";
import { runCommand } from "./run-command.ts";
import { runShell } from "./run-shell.ts";
import { sendPrompt } from "./send-prompt.ts";
import { startSessionInClone } from "./start-session-in-clone.ts";
import { startSession } from "./start-session.ts";
import { summarizeSession } from "./summarize-session.ts";
import { updateDaemon } from "./update-daemon.ts";
import { watchSession } from "./watch-session.ts";

export type Catalogue = { [Name in HostCommand]: Command<Name> };

export const catalogue: Catalogue = {
  abort_turn: abortTurn,
  answer_request: answerRequest,
  browse_directory: browseDirectory,
  clone_repository: cloneRepository,
  describe_session: describeSession,
  diff_session_file: diffSessionFile,
  diff_session: diffSession,
  end_session: endSession,
  forget_host: forgetHost,
  install_agent: installAgent,
  list_agent_kinds: listAgentKinds,
  list_agents: listAgents,
  list_directories: listDirectories,
  list_github_repos: listGithubRepos,
  list_models: listModels,
  list_parked_sessions: listParkedSessions,
  push_session: pushSession,
  refresh_host_facts: refreshHostFacts,
  rename_session: renameSession,
  restart_agent: restartAgent,
  restore_session: restoreSession,
  revert_session: revertSession,
  run_command: runCommand,
  run_shell: runShell,
  send_prompt: sendPrompt,
  start_session: startSession,
  start_session_in_clone: startSessionInClone,
  summarize_session: summarizeSession,
  update_daemon: updateDaemon,
  watch_session: watchSession,
};
