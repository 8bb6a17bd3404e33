// What stands behind the ? of an address.

/** A field of the address as a text; without the field, nothing. A number may be what somebody looks for. */
export function textOf<Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): { [Field in Name]?: string | undefined } {
  const value = search[name];
  if (typeof value !== "string" && typeof value !== "number") return {};
  return { [name]: String(value) } as { [Field in Name]?: string };
}

/** A field of the address as a positive whole number; else nothing. */
export function numberOf<Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): { [Field in Name]?: number | undefined } {
  const value = Number(search[name]);
  if (!Number.isSafeInteger(value) || value < 1) return {};
  return { [name]: value } as { [Field in Name]?: number };
}
