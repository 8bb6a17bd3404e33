// What the MCP server offers to models beside its tools.
import type { Guide } from "../transports/mcp/guide.ts";
import { instructions } from "./instructions.ts";
import { prompts } from "./prompts.ts";
import { resources } from "./resources.ts";

export const guide: Guide = { instructions, prompts, resources };
