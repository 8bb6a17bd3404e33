// What codex can be told to do by name: to condense its history, and every skill that is switched on. Codex's
// app-server reads no slash commands of its own, and no files of prompts.
//
// `review` is not among them, although codex has it: a review runs commands without asking anybody, whatever
// the policy says, and tells no tokens.
import type { AppServer } from "./app-server.ts";
import type { Input, Skill } from "./protocol.ts";
import { callMs } from "./shared-server.ts";

export const compact = "compact";

export async function listCommands(server: AppServer, directory: string): Promise<string[]> {
  // Read anew: a skill may have been added since codex started.
  const skills = await skillsIn(server, directory, true);
  return [...new Set([compact, ...skills.map(({ name }) => name)])];
}

/** How codex is told to use a skill: its instructions are put behind the words. */
export async function skillInput(
  server: AppServer,
  directory: string,
  name: string,
): Promise<Input> {
  const skill = (await skillsIn(server, directory, false)).find((each) => each.name === name);
  if (!skill) throw new Error(`Codex has no command ${name} any more.`);
  return { type: "skill", name, path: skill.path };
}

/** A repository's own come last: none takes the place of one that the host's user has. */
async function skillsIn(
  server: AppServer,
  directory: string,
  forceReload: boolean,
): Promise<Skill[]> {
  const { data } = await server.call("skills/list", { cwds: [directory], forceReload }, callMs);
  const skills = data.flatMap((each) => each.skills).filter(({ enabled }) => enabled);
  const isRepositorys = ({ scope }: Skill) => scope === "repo";
  return [
    ...skills.filter((skill) => !isRepositorys(skill)),
    ...skills.filter((skill) => isRepositorys(skill)),
  ];
}
