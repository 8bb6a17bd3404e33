// Checks the arguments of a slash command. opencode reads each file that they mention with `@`, and lets the
// agent start each sub-agent that they mention, without asking.
import { NotOffered, type SessionSettings } from "../driver.ts";
import type { Api } from "./api.ts";
import { mentionedFiles, mentionsIn } from "./calls.ts";

/** Throws NotOffered unless the policy allows all that the arguments mention. */
export async function checkMentions(
  api: Api,
  { directory, decide }: Pick<SessionSettings, "directory" | "decide">,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const names = mentionsIn(text);
  if (names.length === 0) return;
  const [{ worktree }, agents] = (await Promise.all([
    api.request("GET", "/path", { directory, signal }),
    api.request("GET", "/agent", { directory, signal }),
  ])) as [{ worktree: string }, { name: string }[]];
  const agent = agents.find(({ name }) => names.includes(name));
  const advice = "Leave out the @, or send a prompt instead of a slash command.";
  if (agent)
    throw new NotOffered("text", `@${agent.name} would start a sub-agent unasked. ${advice}`);
  const paths = mentionedFiles(text, worktree);
  if (paths.length === 0) return;
  const { answer, rule } = decide({ callId: null, type: "read", paths });
  if (answer !== "allow")
    throw new NotOffered(
      "text",
      `A file that is mentioned with @ may not be read: ${rule}. ${advice}`,
    );
}
