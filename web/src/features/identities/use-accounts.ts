// The agent accounts on a host: the person's own, and for those who look after hosts everybody's.
import type { AgentIdentity, InstanceDetail } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import type { Result } from "../../calls/call.ts";
import { read, useRead } from "../../calls/use-call.ts";

export interface Accounts {
  own: AgentIdentity[];
  others: AgentIdentity[];
  /** Undefined until it is known. */
  userId: string | undefined;
  listing: Result<"list_agent_identities"> | undefined;
  error: Error | null;
  readAgain: () => void;
}

export function useAccounts({ instanceId, status }: InstanceDetail): Accounts {
  const { data: caller } = useRead("whoami", {});
  const userId = caller?.user?.userId;
  const mayAll = caller?.permissions.includes("instances:edit") ?? false;
  const { data, error, refetch } = useQuery({
    ...read("list_agent_identities", { instanceId, ...(mayAll && { all: true }) }),
    enabled: userId !== undefined && status !== "pairing",
  });
  const all = data?.identities ?? [];
  return {
    own: all.filter(({ user }) => user.userId === userId),
    others: all.filter(({ user }) => user.userId !== userId),
    userId,
    listing: data,
    error,
    readAgain: () => void refetch(),
  };
}
