// Checks who sent a delivery: the signature of GitHub, and the signature of Standard Webhooks
// (https://www.standardwebhooks.com). Both sign the bytes of the body as they were sent.
import { createHmac, timingSafeEqual } from "node:crypto";

/** The headers of a delivery, by their names in lower case. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** How far the sender's clock may be off, and how long a recorded delivery could be sent again. */
const longestSkewSeconds = 5 * 60;

/** Whether the headers have the form of a signature of GitHub. Needs no body. */
export const looksSignedByGithub = (headers: Headers): boolean =>
  githubSignature.test(headerOf(headers, "x-hub-signature-256"));

const githubSignature = /^sha256=([0-9a-f]{64})$/;

/** `secret`: the text that GitHub was given. */
export function isSignedByGithub(secret: string, headers: Headers, body: Buffer): boolean {
  const signature = githubSignature.exec(headerOf(headers, "x-hub-signature-256"));
  const expected = createHmac("sha256", secret).update(body).digest();
  return signature !== null && isEqual(Buffer.from(signature[1]!, "hex"), expected);
}

/** Whether the headers have the form of a signature of Standard Webhooks. Needs no body. */
export function looksLikeStandardWebhook(headers: Headers): boolean {
  const isSigned = /(^| )v1,[\w+/-]{43}=?( |$)/.test(headerOf(headers, "webhook-signature"));
  return isSigned && /^\d{1,15}$/.test(headerOf(headers, "webhook-timestamp"));
}

/** `secret`: `whsec_` and base64. Id and time are signed too, but not judged here. */
export function isStandardWebhook(secret: string, headers: Headers, body: Buffer): boolean {
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature").split(" ");
  const expected = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest();
  return signatures.some(
    (each) => each.startsWith("v1,") && isEqual(Buffer.from(each.slice(3), "base64"), expected),
  );
}

/** Without a dot, which separates the signed parts: a part of the body could pass as a part of the id. */
const storableId = /^[\x21-\x2d\x2f-\x7e]{1,200}$/;

/**
 * Why a Standard Webhook with a right signature is refused; null if it is not. Only a sender that has proved the
 * secret may learn it. `nowSeconds`: by the database's clock.
 */
export function objectToStandardWebhook(headers: Headers, nowSeconds: number): string | null {
  const behind = Math.round(nowSeconds - Number(headerOf(headers, "webhook-timestamp")));
  if (Math.abs(behind) > longestSkewSeconds) {
    const side = behind > 0 ? "behind" : "ahead of";
    return `The signature is right, but webhook-timestamp is ${Math.abs(behind)} seconds ${side} the time of the service, and at most ${longestSkewSeconds} are allowed. It is the time of sending, in seconds since 1970. Check the sender's clock.`;
  }
  if (storableId.test(headerOf(headers, "webhook-id"))) return null;
  return "The signature is right, but webhook-id is not: it must have 1 to 200 visible ASCII characters, and no dot.";
}

/** Empty if the header is missing or was sent twice. */
export function headerOf(headers: Headers, name: string): string {
  const value = headers[name];
  return typeof value === "string" ? value : "";
}

/** Takes the same time wherever the two differ. */
function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
