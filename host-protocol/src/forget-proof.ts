// The proof that a host was removed: the control plane deleted its instance or revoked its key. A daemon
// deletes its credentials and ends its agents only with this proof. A missing record is no proof: it is also
// missing after a restored backup or a fail-over.
import { received } from "@hawser/contract";
import { z } from "zod";
import { isSignedBy, signWith } from "./nkey.ts";

export const ForgetProof = z.strictObject({
  instanceId: z.string(),
  /** Public key of the removed host. Each pairing makes a new key, so no later host accepts this proof. */
  hostKey: z.string(),
  issuedAt: z.iso.datetime(),
  /** One signature by each command key in use. A host that was away during a rotation knows only one key. */
  signatures: z.array(z.string()).min(1).max(2),
});
export type ForgetProof = z.infer<typeof ForgetProof>;

/** A proof is requested and used within seconds. An old one may have been recorded before a restored backup. */
const longestAgeMs = 5 * 60_000;

export function signForgetProof(
  privateKeys: readonly string[],
  removed: Pick<ForgetProof, "instanceId" | "hostKey">,
  now: number,
): ForgetProof {
  const unsigned = { ...removed, issuedAt: new Date(now).toISOString() };
  const signatures = privateKeys.map((key) => signWith(key, signedText(unsigned)));
  return { ...unsigned, signatures };
}

/** The host that checks a proof. */
export interface ForgetProofChecker {
  instanceId: string;
  hostKey: string;
  /** The command keys that the host has pinned. */
  commandKeys: readonly string[];
  /** The time by the control plane's clock, in milliseconds. */
  now: number;
}

/** Whether this is a recent proof, signed by a pinned command key, that exactly this host was removed. */
export function isForgetProven(proof: unknown, host: ForgetProofChecker): boolean {
  const { data } = received(ForgetProof).safeParse(proof);
  return (
    data !== undefined &&
    data.instanceId === host.instanceId &&
    data.hostKey === host.hostKey &&
    Math.abs(host.now - Date.parse(data.issuedAt)) <= longestAgeMs &&
    host.commandKeys.some((key) =>
      data.signatures.some((signature) => isSignedBy(key, signedText(data), signature)),
    )
  );
}

function signedText({
  instanceId,
  hostKey,
  issuedAt,
}: Pick<ForgetProof, "instanceId" | "hostKey" | "issuedAt">): string {
  return ["hawser forget 1", instanceId, hostKey, issuedAt].join("\n");
}
