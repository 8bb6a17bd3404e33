// Which host sends a request: it shows a token of ours, and the proof that it holds the key the token
// names, made for this very request a moment ago. Told from the request alone, without the database.
import type { IncomingMessage } from "node:http";
import { Refusal } from "@hawser/contract";
import { proofHeader } from "@hawser/host-protocol";
import type { HostTokens } from "./host-token.ts";

export interface ProvenHost {
  publicKey: string;
  /** As it is shown (ins_…). */
  instanceId: string;
}

/** Whether a proof of this key is good for a request to this host name at `now`. */
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

/** The value of a header that is there exactly once; of two, nobody knows which the next part reads. */
export function only(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name];
  return values?.length === 1 ? values[0] : undefined;
}
