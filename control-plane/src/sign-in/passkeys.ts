// Passkeys: the options for a browser, and the checks of what it sends back. Registrations and sign-ins need the
// owner's finger, face or PIN, and name nobody: the device knows whose passkey it is.
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticatorTransport,
} from "@simplewebauthn/server";
import { COSEALG, decodeAttestationObject, isoBase64URL } from "@simplewebauthn/server/helpers";
import { isIP } from "node:net";
import { z } from "zod";

export interface Passkey {
  /** In base64url. */
  credentialId: string;
  publicKey: Buffer;
  /** How often the device says it was used; some devices always say 0. */
  counter: number;
  /** How the browser reaches the device, such as `internal` or `usb`. */
  transports: string[];
}

export interface PasskeyUser {
  userId: string;
  email: string;
  name: string | null;
  passkeys: Passkey[];
}

export interface Passkeys {
  beginRegistration(user: PasskeyUser): Promise<{ options: object; challenge: string }>;
  /** Undefined if the response is not good. */
  finishRegistration(response: unknown, challenge: string): Promise<Passkey | undefined>;
  beginSignIn(): Promise<{ options: object; challenge: string }>;
  /**
   * Undefined if the response is not good. The caller stores the counter only if it still has the one that was
   * passed here: of two sign-ins with one count, one is a copy.
   */
  finishSignIn(
    response: unknown,
    challenge: string,
    passkey: Passkey,
  ): Promise<{ counter: number } | undefined>;
  /** Undefined if the response is not one of a sign-in. Nothing is verified. */
  credentialIdOf(response: unknown): string | undefined;
}

/** Named here, so that all nodes of a service accept the same: the library's choice depends on Node's version. */
const algorithms = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256];

const base64url = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[\w-]+$/);
/** 1,023 bytes, which is the longest that WebAuthn allows. */
const CredentialId = base64url(1_364);
const Credential = z.object({
  id: CredentialId,
  rawId: CredentialId,
  type: z.literal("public-key"),
});
const Registration = Credential.extend({
  response: z.object({
    clientDataJSON: base64url(8_192),
    attestationObject: base64url(32_768),
    transports: z.array(z.string().min(1).max(32)).max(8).default([]),
  }),
});
const SignIn = Credential.extend({
  response: z.object({
    clientDataJSON: base64url(8_192),
    authenticatorData: base64url(8_192),
    signature: base64url(4_096),
  }),
});

/** `origin`: that of the dashboard. Undefined if its host is an address: passkeys belong to a name. */
export function createPasskeys(origin: string): Passkeys | undefined {
  const { hostname: rpID, origin: expectedOrigin } = new URL(origin);
  if (isIP(rpID.replace(/^\[|\]$/g, "")) !== 0) return undefined;
  const expected = { expectedOrigin, expectedRPID: rpID, requireUserVerification: true };

  return {
    async beginRegistration({ userId, email, name, passkeys }) {
      const options = await generateRegistrationOptions({
        rpName: "Hawser",
        rpID,
        userID: new TextEncoder().encode(userId),
        userName: email,
        userDisplayName: name ?? email,
        attestationType: "none",
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        supportedAlgorithmIDs: algorithms,
        excludeCredentials: passkeys.map(({ credentialId, transports }) => ({
          id: credentialId,
          transports: transports as AuthenticatorTransport[],
        })),
      });
      return { options, challenge: options.challenge };
    },

    async finishRegistration(json, challenge) {
      const credential = Registration.safeParse(json).data;
      if (!credential) return undefined;
      const { transports, ...response } = credential.response;
      const verified = await orUndefined(() => {
        checkClientData(response.clientDataJSON);
        checkAttestation(response.attestationObject);
        return verifyRegistrationResponse({
          ...expected,
          response: { ...credential, response, clientExtensionResults: {} },
          expectedChallenge: challenge,
          supportedAlgorithmIDs: algorithms,
        });
      });
      if (!verified?.verified) return undefined;
      const { id, publicKey, counter } = verified.registrationInfo.credential;
      if (id !== credential.id) return undefined;
      return { credentialId: id, publicKey: Buffer.from(publicKey), counter, transports };
    },

    async beginSignIn() {
      const options = await generateAuthenticationOptions({ rpID, userVerification: "required" });
      return { options, challenge: options.challenge };
    },

    async finishSignIn(json, challenge, { credentialId, publicKey, counter }) {
      const response = SignIn.safeParse(json).data;
      if (response?.id !== credentialId) return undefined;
      const verified = await orUndefined(() => {
        checkClientData(response.response.clientDataJSON);
        return verifyAuthenticationResponse({
          ...expected,
          response: { ...response, clientExtensionResults: {} },
          expectedChallenge: challenge,
          credential: { id: credentialId, publicKey: new Uint8Array(publicKey), counter },
        });
      });
      return verified?.verified ? { counter: verified.authenticationInfo.newCounter } : undefined;
    },

    credentialIdOf: (json) => SignIn.safeParse(json).data?.id,
  };
}

/** The library throws for everything that is not good; its messages quote the response. */
async function orUndefined<T>(verify: () => Promise<T>): Promise<T | undefined> {
  try {
    return await verify();
  } catch {
    return undefined;
  }
}

/** The library also accepts what was made in a frame of another site's page. */
function checkClientData(clientDataJSON: string): void {
  const { crossOrigin } = JSON.parse(isoBase64URL.toUTF8String(clientDataJSON)) as {
    crossOrigin?: unknown;
  };
  if (crossOrigin === true) throw new Error("The response was made inside of another site's page.");
}

/**
 * No attestation was asked for. The library would verify one that is there, and download lists of revoked certificates
 * from addresses in it. A device may still sign for itself, without certificates.
 */
function checkAttestation(attestationObject: string): void {
  const decoded = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = decoded.get("fmt");
  const isOwn = format === "packed" && decoded.get("attStmt").get("x5c") === undefined;
  if (format !== "none" && !isOwn) throw new Error("The response has an attestation.");
}
