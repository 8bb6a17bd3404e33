// The slash commands of codex sessions: `compact`, which condenses the history, and every enabled skill.
// Codex's app-server has no slash commands of its own, and does not read prompt files.
//
// `review` is left out although codex has it: a review runs commands without asking, whatever the policy
// says, and reports no tokens.
import type { SessionCommand } from "@hawser/contract";
import type { AppServer } from "./app-server.ts";
import type { Input, Skill } from "./protocol.ts";
import { callMs } from "./shared-server.ts";

export const compact = "compact";

export async function listCommands(
  server: AppServer,
  directory: string,
): Promise<SessionCommand[]> {
  // Reloads, because a skill may have been added since codex started.
  const skills = await skillsIn(server, directory, true);
  const listed = [
    { name: compact, description: "Condenses the conversation.", takesArguments: false },
    ...skills.map(({ name, description }) => ({
      name,
      description: description || null,
      // The text goes to the model with the skill.
      takesArguments: true,
    })),
  ];
  return listed.filter(({ name }, at) => at === listed.findIndex((each) => each.name === name));
}

/** Input that makes codex use a skill: codex appends the skill's instructions to the prompt. */
export async function skillInput(
  server: AppServer,
  directory: string,
  name: string,
): Promise<Input> {
  const skill = (await skillsIn(server, directory, false)).find((each) => each.name === name);
  if (!skill) throw new Error(`Codex has no command ${name}.`);
  return { type: "skill", name, path: skill.path };
}

/** Skills of the repository come last, so that they cannot replace skills of the host's user. */
async function skillsIn(
  server: AppServer,
  directory: string,
  forceReload: boolean,
): Promise<Skill[]> {
  const { data } = await server.call("skills/list", { cwds: [directory], forceReload }, callMs);
  const skills = data.flatMap((each) => each.skills).filter(({ enabled }) => enabled);
  const isOfRepository = ({ scope }: Skill) => scope === "repo";
  return [
    ...skills.filter((skill) => !isOfRepository(skill)),
    ...skills.filter((skill) => isOfRepository(skill)),
  ];
}
