// Identifies the host that sends a request: it sends a token of ours and a fresh proof that it holds
// the token's key, made for this request. Uses only the request, not the database.
import type { IncomingMessage } from "node:http";
import { Refusal } from "@hawser/contract";
import { proofHeader } from "@hawser/host-protocol";
import type { HostTokens } from "./host-token.ts";

export interface ProvenHost {
  publicKey: string;
  /** The id that callers see (ins_…). */
  instanceId: string;
}

/** Whether a proof of this key is valid for a request to this host name at `now`. */
type IsGood = (publicKey: string, host: string, proof: string, now: number) => boolean;

export function proveHost(
  request: IncomingMessage,
  tokens: Pick<HostTokens, "read">,
  now: number,
  isGood: IsGood,
): ProvenHost | Refusal {
  const token = /^Bearer ([\w.-]+)$/i.exec(only(request, "authorization") ?? "")?.[1];
  const host = token && tokens.read(token, now);
  if (!host) {
    return new Refusal("unauthenticated", "The host token is missing, not valid or has run out.");
  }
  const name = only(request, "host") ?? "";
  if (!isGood(host.publicKey, name, only(request, proofHeader) ?? "", now)) {
    return new Refusal(
      "forbidden",
      "The proof was not made by the token's key for this address within the last minute. Compare the clocks by the Date header.",
    );
  }
  return host;
}

/**
 * The value of a header that is sent exactly once. If it is sent twice, it is unclear which one the
 * next part reads.
 */
export function only(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name];
  return values?.length === 1 ? values[0] : undefined;
}
