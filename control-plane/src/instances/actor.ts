// Who asks something of a host, for the host's own log.
import { formatId } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";

export function actorOf({ userId, apiKeyId }: Caller): { type: string; id: string } {
  return userId
    ? { type: "user", id: formatId("user", userId) }
    : { type: "api_key", id: formatId("apiKey", apiKeyId) };
}
