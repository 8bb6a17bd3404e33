// What of a session's work is committed and pushed. Undefined where there is no repository, and until it is known.
import type { Session } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import type { Result } from "../../calls/call.ts";
import { read } from "../../calls/use-call.ts";

export type GitState = Result<"get_session_git">;

/** `isFresh`: read again now, because what is decided depends on it. */
export function useGit({ sessionId }: Session, isFresh = false): GitState | undefined {
  const { data } = useQuery({
    ...read("get_session_git", { sessionId }),
    ...(isFresh && { refetchOnMount: "always" }),
  });
  return data;
}
