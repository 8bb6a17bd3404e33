// Reads the lifetime from a host token. The host does not verify the token; the edge and the fabric do.

export interface TokenLife {
  /** In milliseconds. */
  expiresAt: number;
  /** When to ask for the next token: after two thirds of its life, and a little later at random. */
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
    // The error is thrown below.
  }
  throw new Error("The host's token cannot be read.");
}
