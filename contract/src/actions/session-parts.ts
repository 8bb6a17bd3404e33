// Parts of the inputs of session actions: clone sources, agent options, attachments, commands.
import { z } from "zod";
import { CheckoutName, CloneUrl, HostedRepository } from "../clone-source.ts";
import { exactlyOneOf } from "../exactly-one.ts";
import { text } from "../text.ts";

/** Settings of the agent's model. */
export const Options = z
  .record(z.string(), z.string())
  .meta({ description: "Values by id, from list_agent_kinds." });

/** The agent's mode or sub-agent that does the work. */
export const AgentMode = z.string().meta({ description: "One of `modes` of list_agent_kinds." });

/** A checkout made for one session. */
export const Clone = z
  .strictObject({
    repo: HostedRepository.optional(),
    url: CloneUrl.optional(),
    name: CheckoutName.optional(),
  })
  .check(exactlyOneOf("repo", "url"))
  .meta({ description: "What to clone for the session: exactly one of `repo` and `url`." });

const AttachmentUrl = z
  .string()
  .check((context) => {
    if (!/^(?:https:\/\/[^/]|data:)/i.test(context.value)) {
      context.issues.push({
        code: "custom",
        input: context.value,
        message: "must be an https: or data: address",
      });
    }
  })
  .meta({ description: "An https: or data: address." });

/** A file sent with a prompt. */
export const Attachment = z
  .strictObject({
    mime: z.string().meta({ description: "The media type." }),
    fileId: z.string().meta({ description: "A file uploaded to POST /api/files." }).optional(),
    url: AttachmentUrl.optional(),
    filename: z.string().meta({ description: "The name to show." }).optional(),
  })
  .check(exactlyOneOf("fileId", "url"))
  .meta({ description: "A file: exactly one of `fileId` and `url`." });

/** One of the agent's slash commands. */
export const CommandName = text({ min: 1 })
  .check((context) => {
    if (context.value.startsWith("/")) {
      context.issues.push({
        code: "custom",
        input: context.value,
        message: "must be the command's name without the leading slash",
      });
    }
  })
  .meta({ description: "The command's name, without its slash." });
