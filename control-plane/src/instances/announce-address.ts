// Moves hosts to another address of this service: announces it to hosts that dial a former one, and proves
// to a host that tries it that this service is behind it (decision 0078).
import { signAddressProof, type RenewReply, type RenewRequest } from "@hawser/host-protocol";
import type { FabricKeys } from "../fabric/fabric-keys.ts";

interface AnnouncerParts {
  baseUrl: string;
  formerBaseUrls: readonly string[];
  /** Read at each use: a rotation changes them. */
  keys: Pick<FabricKeys, "commandKey" | "secondCommandKey">;
}

export interface AddressAnnouncer {
  /** The address to use instead of the dialled one; undefined if the host is to stay. */
  movedTo: (dialled: string) => string | undefined;
  /** Adds the proof to the answer of a renewal whose request has a challenge. */
  prove: (reply: RenewReply, request: RenewRequest) => RenewReply;
}

export function createAddressAnnouncer(parts: AnnouncerParts): AddressAnnouncer {
  const { formerBaseUrls, keys } = parts;
  const serverUrl = new URL(parts.baseUrl).origin;
  return {
    movedTo: (dialled) => (formerBaseUrls.includes(dialled) ? serverUrl : undefined),
    prove(reply, { publicKey, challenge }) {
      if (!("token" in reply) || challenge === undefined) return reply;
      const privateKeys = [keys.commandKey, keys.secondCommandKey ?? []].flat();
      const address = signAddressProof(
        privateKeys.map(({ privateKey }) => privateKey),
        serverUrl,
        { hostKey: publicKey, challenge },
      );
      return { ...reply, address };
    },
  };
}
