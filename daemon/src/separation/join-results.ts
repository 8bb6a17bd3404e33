// Joins the results of commands that every worker carries out. What a worker says about people and sessions of others
// is left out, because agents may have taken it over.
import type { SealingKey } from "@hawser/contract";
import type { CommandResultOf, HostCommand } from "@hawser/host-protocol";

export type JoinedCommand = "list_identities" | "list_parked_sessions" | "restart_agent";

/** What one worker answered. */
interface Part<Name extends HostCommand> {
  of: string;
  result: CommandResultOf<Name>;
}

type Join = {
  [Name in JoinedCommand]: (parts: Part<Name>[]) => Promise<CommandResultOf<Name>>;
};

export function createJoin(options: {
  isOwner: (user: string, ownerId: string) => boolean;
  isOf: (user: string, sessionId: string) => boolean;
  sealingKey: () => Promise<SealingKey>;
}): Join {
  const { isOwner, isOf, sealingKey } = options;
  return {
    list_identities: async (parts) => ({
      identities: parts.flatMap(({ of, result }) =>
        result.identities.filter(({ ownerId }) => isOwner(of, ownerId)),
      ),
      separated: true,
      sealingKey: await sealingKey(),
    }),
    list_parked_sessions: async (parts) => ({
      parkedSessions: parts.flatMap(({ of, result }) =>
        result.parkedSessions.filter(({ sessionId }) => isOf(of, sessionId)),
      ),
      truncated: parts.some(({ result }) => result.truncated),
    }),
    restart_agent: async (parts) => ({
      detachedSessionIds: parts.flatMap(({ of, result }) =>
        result.detachedSessionIds.filter((sessionId) => isOf(of, sessionId)),
      ),
    }),
  };
}
