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

/** Bytes of what all workers together add to one message. NATS accepts messages of 1 MiB. */
const mostJoined = 512 * 1024;

/**
 * The first of them, as many as one worker may add: each has an equal share, so that agents cannot make a message that
 * is too large to be sent for everybody.
 */
export function fitting<Value>(values: readonly Value[], workers: number): Value[] {
  let left = mostJoined / Math.max(workers, 1);
  const end = values.findIndex(
    (value) => (left -= Buffer.byteLength(JSON.stringify(value)) + 1) < 0,
  );
  return end === -1 ? [...values] : values.slice(0, end);
}

export type Join = {
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
        fitting(
          result.identities.filter(({ ownerId }) => isOwner(of, ownerId)),
          parts.length,
        ),
      ),
      separated: true,
      sealingKey: await sealingKey(),
    }),
    async list_parked_sessions(parts) {
      const lists = parts.map(({ of, result: { parkedSessions, truncated } }) => {
        const ofThis = parkedSessions.filter(({ sessionId }) => isOf(of, sessionId));
        const shown = fitting(ofThis, parts.length);
        return { shown, truncated: truncated || shown.length < ofThis.length };
      });
      return {
        parkedSessions: lists.flatMap(({ shown }) => shown),
        truncated: lists.some(({ truncated }) => truncated),
      };
    },
    restart_agent: async (parts) => ({
      detachedSessionIds: parts.flatMap(({ of, result }) =>
        fitting(
          result.detachedSessionIds.filter((sessionId) => isOf(of, sessionId)),
          parts.length,
        ),
      ),
    }),
  };
}
