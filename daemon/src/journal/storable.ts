// Makes an agent's output storable as text. NUL, which no database column accepts, and unpaired
// surrogates, which are not text, become U+FFFD before anything is recorded. So the host and the control
// plane store the same entry.

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
