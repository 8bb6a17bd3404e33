// Finds what no answer may contain: secrets outside the one answer that delivers them, and, in a refusal,
// internals of the service such as stack traces, SQL and file names.
import { join } from "node:path";
import type { Reply } from "@hawser/testkit/caller.ts";

// Whole secrets are recognized by their form, whatever their origin.
const secretShape = /hw[a-z]_[0-9a-z_]{50,}|whsec_[\w+/]{43}=/g;

const repository = join(import.meta.dirname, "..");

const internals: [what: string, pattern: RegExp][] = [
  ["stack text", /\bat (?:async )?[\w.<>[\] ]+ \(|node:internal|\.[cm]?[jt]s:\d+/],
  [
    "SQL",
    /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b.{0,300}\b(?:FROM|VALUES|SET|WHERE)\b|\b(?:organization_id|hawser_\w+|pg_\w+)\b|duplicate key|violates|relation \\?"|column \\?"|input syntax/s,
  ],
  ["a file of the service", /file:\/\/\/|node_modules|control-plane\/|\/(?:tmp|usr|opt)\//],
];

export class Leaks {
  /** The secret part of each known key. */
  private readonly secretParts = new Set<string>();

  know(secret: string): void {
    this.secretParts.add(secret.slice(secret.lastIndexOf("_") + 1));
  }

  /** Everything in these replies that must not be there, one line each. */
  search(replies: Reply[]): string[] {
    const texts = replies.map((reply) => this.withoutHandedOut(reply));
    const found = this.searchTexts(texts);
    replies.forEach((reply, index) => {
      if (reply.status < 400 && !reply.text.includes('"isError":true')) return;
      const text = texts[index]!;
      for (const [what, pattern] of internals) {
        const match = pattern.exec(text)?.[0] ?? (text.includes(repository) && repository);
        if (match) found.push(`${what} in a refusal: ${match} in ${text.slice(0, 300)}`);
      }
    });
    return found;
  }

  searchTexts(texts: string[]): string[] {
    return texts.flatMap((text) => [
      ...(text.match(secretShape) ?? []).map((secret) => `${secret} in ${text.slice(0, 300)}`),
      ...[...this.secretParts]
        .filter((part) => text.includes(part))
        .map((part) => `the secret part ${part} in ${text.slice(0, 300)}`),
    ]);
  }

  /** The reply's text without the secret that it delivers. That secret is searched for from then on. */
  private withoutHandedOut(reply: Reply): string {
    let text = `${JSON.stringify([...reply.headers])} ${reply.text}`;
    for (const secret of handedOut(reply.body)) {
      this.know(secret);
      text = text.replaceAll(secret, "");
    }
    return text;
  }
}

/** Some actions return a key, a token, a secret, or a link with one. In an answer of MCP they are one level deeper. */
function handedOut(body: unknown): string[] {
  const { result } = (body ?? {}) as { result?: Record<string, unknown> };
  const answer = (result?.["structuredContent"] ?? result) as Record<string, unknown> | undefined;
  const { key, pairingToken, secret, token, url } = answer ?? {};
  const inLink = typeof url === "string" ? (url.match(secretShape) ?? []) : [];
  return [key, pairingToken, secret, token, ...inLink].filter((part) => typeof part === "string");
}
