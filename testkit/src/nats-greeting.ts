// The first line that a client of NATS sends, for hosts that write the protocol themselves.
import type { Nkey } from "@hawser/host-protocol";

/** The CONNECT line that answers the server's INFO line. */
export function connectLine(info: string, key: Nkey, token: string, name: string): string {
  const { nonce } = JSON.parse(info.slice("INFO ".length)) as { nonce: string };
  const greeting = {
    jwt: token,
    nkey: key.publicKey,
    sig: key.sign(nonce).toString("base64url"),
    verbose: false,
    headers: true,
    no_responders: true,
    protocol: 1,
    lang: "raw",
    version: "1",
    name,
  };
  return `CONNECT ${JSON.stringify(greeting)}\r\n`;
}
