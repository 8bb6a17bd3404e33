import assert from "node:assert/strict";
import { test } from "node:test";
import { readAddressProof, signAddressProof } from "./address-proof.ts";
import { makeSigningKey } from "./nkey.ts";

test("an address is proven to one host, for one request, by a command key that the host has pinned", () => {
  const [key, other] = [makeSigningKey(), makeSigningKey()];
  const asked = { hostKey: "UHOST", challenge: "once" };
  const serverUrl = "https://hawser.example";
  const proof = signAddressProof([other.privateKey, key.privateKey], serverUrl, asked);
  assert.equal(readAddressProof(proof, asked, [key.publicKey]), serverUrl);
  const later = { ...proof, note: "of a later version" };
  assert.equal(readAddressProof(later, asked, [key.publicKey]), serverUrl);
  const bad: [name: string, proof: unknown, asked: typeof asked, keys: string[]][] = [
    ["no proof", undefined, asked, [key.publicKey]],
    ["another address", { ...proof, serverUrl: "https://evil.example" }, asked, [key.publicKey]],
    ["another host", proof, { ...asked, hostKey: "UOTHER" }, [key.publicKey]],
    ["another request", proof, { ...asked, challenge: "twice" }, [key.publicKey]],
    ["another service", proof, asked, [makeSigningKey().publicKey]],
    ["no signature", { ...proof, signatures: [] }, asked, [key.publicKey]],
  ];
  for (const [name, ...given] of bad) assert.equal(readAddressProof(...given), undefined, name);
});
