// The proof that the service stands behind an address that a host has not used before. A host leaves the
// address it knows only with this proof, which nothing but the service's command key can make.
import { received } from "@hawser/contract";
import { z } from "zod";
import { isSignedBy, signWith } from "./nkey.ts";

export const AddressProof = z.strictObject({
  /** The address that the service names as its own. */
  serverUrl: z.string().max(300),
  /** One signature by each command key in use. A host that was away during a rotation knows only one key. */
  signatures: z.array(z.string()).min(1).max(2),
});
export type AddressProof = z.infer<typeof AddressProof>;

interface Asked {
  hostKey: string;
  /** Made by the host for one request, so that no proof can be used again. */
  challenge: string;
}

export function signAddressProof(
  privateKeys: readonly string[],
  serverUrl: string,
  asked: Asked,
): AddressProof {
  const text = signedText(asked, serverUrl);
  return { serverUrl, signatures: privateKeys.map((key) => signWith(key, text)) };
}

/** The address in a proof that a pinned command key has signed for this request; else undefined. */
export function readAddressProof(
  proof: unknown,
  asked: Asked,
  commandKeys: readonly string[],
): string | undefined {
  const { data } = received(AddressProof).safeParse(proof);
  if (!data) return undefined;
  const text = signedText(asked, data.serverUrl);
  const isProven = commandKeys.some((key) =>
    data.signatures.some((signature) => isSignedBy(key, text, signature)),
  );
  return isProven ? data.serverUrl : undefined;
}

function signedText({ hostKey, challenge }: Asked, serverUrl: string): string {
  return ["hawser address 1", hostKey, challenge, serverUrl].join("\n");
}
