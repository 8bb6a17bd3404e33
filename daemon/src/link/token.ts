// What a host token says of its own life. The host does not check it; the edge and the fabric do.

export interface TokenLife {
  /** In milliseconds. */
  expiresAt: number;
  /** When to ask for the next: after two thirds of its life, hosts spread over a little more. */
  renewAt: number;
}

const renewAfter = 2 / 3;
const spread = 0.05;

export function readTokenLife(token: string): TokenLife {
  const { iat, exp } = claimsOf(token);
  const issuedAt = iat * 1000;
  const expiresAt = exp * 1000;
  const share = renewAfter + Math.random() * spread;
  return { expiresAt, renewAt: issuedAt + (expiresAt - issuedAt) * share };
}

function claimsOf(token: string): { iat: number; exp: number } {
  try {
    const text = Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
    const { iat, exp } = JSON.parse(text) as { iat?: unknown; exp?: unknown };
    if (typeof iat === "number" && typeof exp === "number") return { iat, exp };
  } catch {
    // Said below.
  }
  throw new Error("The host's token cannot be read.");
}
