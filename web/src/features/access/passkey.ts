// Passkeys of this browser: signing in with one, and adding one.
import { request } from "../../calls/request.ts";

interface Begun {
  options: PublicKeyCredentialRequestOptionsJSON & PublicKeyCredentialCreationOptionsJSON;
}

/** False on a bare IP address, where browsers make no passkeys, and in browsers without them. */
export function canUsePasskeys(): boolean {
  const { hostname } = location;
  const isAddress = /^[\d.]+$|:/.test(hostname.replace(/^\[|\]$/g, ""));
  return !isAddress && "PublicKeyCredential" in window && window.isSecureContext;
}

/** Throws a DOMException if the person stops it. */
export async function signInWithPasskey(): Promise<void> {
  const { options } = await request<Begun>("/api/sign-in/passkey/begin", {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey });
  await request("/api/sign-in/passkey", { response: asJson(credential) });
}

/** Needs a fresh sign-in. Throws a DOMException if the person stops it. */
export async function addPasskey(): Promise<void> {
  const { options } = await request<Begun>("/api/sign-in/passkeys/begin", {});
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  await request("/api/sign-in/passkeys/add", { response: asJson(credential) });
}

function asJson(credential: Credential | null): unknown {
  return (credential as PublicKeyCredential).toJSON();
}
