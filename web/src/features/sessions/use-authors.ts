// The names of those who have sent prompts. The log has their ids, so the session's turns are read if one of them is
// neither who started the session nor the person at this page.
import type { Session } from "@hawser/client";
import { useMemo } from "react";
import { organization } from "../../calls/organization.ts";
import { useRead } from "../../calls/use-call.ts";
import { words } from "../../words/words.ts";
import type { Person } from "../access/index.ts";

export type AuthorName = (by: string | null | undefined) => string;

export function useAuthors(
  { sessionId, startedBy }: Session,
  person: Person | undefined,
  authors: ReadonlySet<string>,
): AuthorName {
  const known = useMemo(() => {
    const names = new Map<string, string>();
    const own = person?.organizations.find((each) => each.organizationId === organization.id);
    if (person && own) names.set(person.user.userId, own.memberName ?? person.user.email);
    if (startedBy.type === "user" && startedBy.name) names.set(startedBy.id, startedBy.name);
    return names;
  }, [person, startedBy]);
  const isUnknown = [...authors].some((by) => !known.has(by));
  const { data } = useRead("list_session_turns", { sessionId, limit: 200 }, { enabled: isUnknown });
  const starter = startedBy.name ?? words("session.somebody");
  return useMemo(() => {
    const names = new Map(known);
    for (const { by } of data?.turns ?? []) if (by) names.set(by.userId, by.name);
    return (by) => {
      // Entries of earlier versions do not say it.
      if (by === undefined) return starter;
      if (by === null) return startedBy.type === "user" ? words("session.somebody") : starter;
      if (by === "own") return (person && names.get(person.user.userId)) ?? starter;
      return names.get(by) ?? words("session.somebody");
    };
  }, [known, data, starter, startedBy, person]);
}
