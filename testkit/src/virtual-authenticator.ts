// A passkey device without hardware: Chromium's own, which confirms every question as its owner.
import type { CDPSession, Page } from "playwright-core";

export interface VirtualAuthenticator {
  /** Calls the browser's API with the options of a server, and returns what a page would send back. */
  register(options: object): Promise<unknown>;
  signIn(options: object): Promise<unknown>;
  /** Whether the owner's finger or PIN is right from now on. */
  setVerified(isVerified: boolean): Promise<void>;
  /** Removes all passkeys. The device has room for three. */
  forget(): Promise<void>;
  /** Continues to count the uses of all passkeys from this number. */
  setCounter(count: number): Promise<void>;
}

/** Adds a device to the page's browser. It answers for this page only, as long as the page is open. */
export async function addVirtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    register: (options) =>
      page.evaluate(
        callOf(`navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(options)}),
        })`),
      ),
    signIn: (options) =>
      page.evaluate(
        callOf(`navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)}),
        })`),
      ),
    async setVerified(isUserVerified) {
      await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    },
    async forget() {
      await session.send("WebAuthn.clearCredentials", { authenticatorId });
    },
    async setCounter(signCount) {
      const { credentials } = await session.send("WebAuthn.getCredentials", { authenticatorId });
      for (const credential of credentials) {
        await session.send("WebAuthn.removeCredential", {
          authenticatorId,
          credentialId: credential.credentialId,
        });
        await session.send("WebAuthn.addCredential", {
          authenticatorId,
          credential: { ...credential, signCount },
        });
      }
    },
  };
}

/** Runs in the page, whose functions the compiler does not know. */
function callOf(expression: string): string {
  return `${expression}.then((credential) => credential.toJSON())`;
}
