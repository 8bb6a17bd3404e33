// list_github_repos: what the account of the host's code-hosting client can reach.
import { GhError } from "../code-hosting/gh.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { Command } from "./command.ts";

export const listGithubRepos: Command<"list_github_repos"> = {
  repeatable: true,
  endsHost: false,
  async run(wanted, { codeHosting, signal }) {
    try {
      return await codeHosting.list(wanted, signal);
    } catch (error) {
      if (error instanceof GhError) throw new CommandRefusal(error.problem, error.message);
      throw error;
    }
  },
};
