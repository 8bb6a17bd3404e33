// Agents print what they like; the log holds text. NUL, which no database column takes, and halves of
// surrogate pairs, which are not text, become U+FFFD before anything is recorded, so that host and
// control plane keep the same entry.

const replacement = "\u{fffd}";

export function storable<Value>(value: Value): Value {
  return JSON.parse(
    JSON.stringify(value, (_key, inner: unknown) => {
      if (typeof inner === "string") return cleaned(inner);
      if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
      return Object.fromEntries(
        Object.entries(inner).map(([key, each]) => [cleaned(key), each as unknown]),
      );
    }),
  ) as Value;
}

function cleaned(text: string): string {
  return text.toWellFormed().replaceAll("\0", replacement);
}
