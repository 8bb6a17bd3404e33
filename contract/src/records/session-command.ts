// Slash commands of a session's agent, as callers see them.
import { z } from "zod";

export const SessionCommand = z
  .strictObject({
    name: z.string().meta({ description: "The name for run_command, without the slash." }),
    description: z.string().nullable().meta({
      description: "What it does, at most 200 characters; null if the agent does not say.",
    }),
    takesArguments: z
      .boolean()
      .meta({ description: "Whether the agent says that it uses `arguments`." }),
  })
  .meta({ id: "SessionCommand", description: "One of the slash commands of a session's agent." });
export type SessionCommand = z.infer<typeof SessionCommand>;
