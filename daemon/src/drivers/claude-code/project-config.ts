// Finds a repository's configuration of Claude Code: settings with hooks and addresses, MCP servers,
// commands, agents and skills. The driver disables all of it, so the files are listed and cause no refusal.
import { findInRepository } from "../repository-files.ts";

const names = [".claude", ".mcp.json", "CLAUDE.local.md"];

export const findIgnoredConfig = (directory: string) => findInRepository(directory, names);
