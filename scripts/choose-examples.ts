// Chooses the most telling of many recorded calls, and removes what belongs to the machine they ran on.

export interface Recorded {
  action: string;
  request: Record<string, unknown>;
  result: Record<string, unknown>;
}

/** Values that are shown once, and what the documents show instead. */
const secrets: Record<string, string> = {
  key: "hawser_key_shown_once",
  pairingToken: "hawser_pairing_shown_once",
  secret: "hawser_secret_shown_once",
  installCommand:
    "curl -fsSL https://hawser.example.com/install.sh | sh -s -- hawser_pairing_shown_once",
};

/** Secrets within other values, such as links. */
const secretShape = /hw[a-z]_[0-9a-z_]{50,}/g;

/** The longest example, in characters. */
const longest = 1_600;

/** A recorded line without addresses, paths and names of the machine. */
export function neutral(line: string, hostname: string): string {
  return line
    .replaceAll(/https?:\/\/127\.0\.0\.1:\d+/g, "https://hawser.example.com")
    .replaceAll(/127\.0\.0\.1(?::\d+)?/g, "hawser.example.com")
    .replaceAll(
      /\/(?:tmp|dev|root|home|var|work)\/[^"'\s\\]*\/(?=[^/"'\s\\]*["'\s\\])/g,
      "/srv/code/",
    )
    .replaceAll(secretShape, "hawser_secret_shown_once")
    .replaceAll(hostname, "build-1");
}

/** One example for each recorded action. */
export function chooseExamples(
  recorded: readonly Recorded[],
): Record<string, Pick<Recorded, "request" | "result">> {
  const best = new Map<string, { score: number; example: Recorded }>();
  for (const example of recorded) {
    const score = scoreOf(example);
    const found = best.get(example.action);
    if (!found || score > found.score) best.set(example.action, { score, example });
  }
  return Object.fromEntries(
    [...best].map(([action, { example }]) => [
      action,
      { request: example.request, result: withoutSecrets(example.result) },
    ]),
  );
}

/** Prefers examples with many values that are set, as long as they are short. */
function scoreOf({ request, result }: Recorded): number {
  const { length } = JSON.stringify([request, result]);
  const telling = countValues(request) * 2 + countValues(result);
  return length > longest ? -length : telling;
}

function countValues(value: unknown): number {
  if (value === null || value === "") return 0;
  if (typeof value !== "object") return 1;
  return Object.values(value).reduce<number>((sum, part) => sum + countValues(part), 0);
}

function withoutSecrets(result: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(result).map(([name, value]) => [
      name,
      typeof value === "string" && Object.hasOwn(secrets, name) ? secrets[name] : value,
    ]),
  );
}
