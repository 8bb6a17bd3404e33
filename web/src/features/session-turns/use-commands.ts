// The agent's slash commands while the name of one is typed.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Result } from "../../calls/call.ts";
import { queries } from "../../calls/query-client.ts";
import { read } from "../../calls/use-call.ts";
import { typedCommand } from "./written.ts";

type SessionCommand = Result<"list_session_commands">["commands"][number];

export interface Commands {
  isOpen: boolean;
  isLoading: boolean;
  error: Error | null;
  /** Those whose names begin as it was typed, then those that contain it. */
  shown: readonly SessionCommand[];
  active: number;
  move: (by: 1 | -1) => void;
  /** Closes the list until something else is typed. */
  close: () => void;
}

const query = (sessionId: string) => ({
  ...read("list_session_commands", { sessionId }),
  staleTime: 60_000,
});
const none: readonly SessionCommand[] = [];
const mostShown = 50;

export function useCommands(sessionId: string, text: string, isOffered: boolean): Commands {
  const typed = isOffered ? typedCommand(text) : undefined;
  const [at, setAt] = useState({ text, active: 0, isClosed: false });
  const { active, isClosed } = at.text === text ? at : { active: 0, isClosed: false };
  const { data, error, isPending } = useQuery({
    ...query(sessionId),
    enabled: typed !== undefined,
  });
  const shown = typed === undefined ? none : matching(data?.commands ?? none, typed);
  return {
    isOpen: typed !== undefined && !isClosed,
    isLoading: isPending,
    error,
    shown,
    active,
    move: (by) =>
      setAt({ text, active: (active + by + shown.length) % (shown.length || 1), isClosed }),
    close: () => setAt({ text, active, isClosed: true }),
  };
}

export function matching(
  commands: readonly SessionCommand[],
  typed: string,
): readonly SessionCommand[] {
  const wanted = typed.toLowerCase();
  const begins = ({ name }: SessionCommand) => name.toLowerCase().startsWith(wanted);
  const found = commands.filter(({ name }) => name.toLowerCase().includes(wanted));
  return [...found.filter(begins), ...found.filter((each) => !begins(each))].slice(0, mostShown);
}

/** Whether the session's agent has this command. Throws as the call does. */
export async function hasCommand(sessionId: string, name: string): Promise<boolean> {
  const { commands } = await queries.query(query(sessionId));
  return commands.some((command) => command.name === name);
}
