// What no answer may show: secrets outside of the one answer that hands them out, and in a refusal
// anything of the service's inside - stack text, SQL, its files.
import { join } from "node:path";
import type { Reply } from "@hawser/testkit/caller.ts";

// Whole secrets are known by their shape, wherever they come from.
const secretShape = /hw[kp]_[0-9a-z_]{50,}/g;

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
  /** The part of each known secret that nobody else may learn. */
  private readonly secretParts = new Set<string>();

  know(secret: string): void {
    this.secretParts.add(secret.slice(secret.lastIndexOf("_") + 1));
  }

  /** Everything in these replies that should not be there, one line each. */
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

  /** The reply's text without the secret that it exists to hand out, which is known from then on. */
  private withoutHandedOut(reply: Reply): string {
    let text = `${JSON.stringify([...reply.headers])} ${reply.text}`;
    for (const secret of handedOut(reply.body)) {
      this.know(secret);
      text = text.replaceAll(secret, "");
    }
    return text;
  }
}

/** Two actions' answers hold a key, two a pairing token; through MCP they lie one step deeper. */
function handedOut(body: unknown): string[] {
  const { result } = (body ?? {}) as { result?: Record<string, unknown> };
  const answer = (result?.["structuredContent"] ?? result) as Record<string, unknown> | undefined;
  return [answer?.["key"], answer?.["pairingToken"]].filter((part) => typeof part === "string");
}
