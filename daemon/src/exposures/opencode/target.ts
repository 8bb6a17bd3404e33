// The path and query of a request, read so strictly that no server can read them otherwise.

export interface Target {
  path: string;
  query: ReadonlyMap<string, string>;
}

const longest = 8 * 1024;
/** No encoded character, and none that a server might take for a separator: % \ ; : @ and others. */
const plainPath = /^\/(?:[\w.-]+(?:\/[\w.-]+)*)?$/;
/** The web app encodes brackets in names; a name stays as it was sent. */
const plainName = /^[A-Za-z_]+(?:%5B[A-Za-z]+%5D)?$/;
// oxlint-disable-next-line no-control-regex -- control characters are what it finds
const control = /[\0-\x1f\x7f]/;

/** undefined if the text is anything but an absolute path and a query with single, readable parameters. */
export function readTarget(raw: string): Target | undefined {
  if (raw.length > longest) return undefined;
  const at = raw.indexOf("?");
  const path = at === -1 ? raw : raw.slice(0, at);
  if (!plainPath.test(path)) return undefined;
  if (path.split("/").some((segment) => /^\.+$/.test(segment))) return undefined;
  const query = new Map<string, string>();
  for (const pair of at === -1 ? [] : raw.slice(at + 1).split("&")) {
    const [name = "", value = "", ...more] = pair.split("=");
    const decoded = decode(value);
    if (more.length > 0 || decoded === undefined) return undefined;
    if (!plainName.test(name) || query.has(name)) return undefined;
    query.set(name, decoded);
  }
  return { path, query };
}

function decode(text: string): string | undefined {
  if (!/^[\w.~!*'()%+,/:@$-]*$/.test(text)) return undefined;
  try {
    const decoded = decodeURIComponent(text.replaceAll("+", " "));
    return control.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}

export function writeTarget({ path, query }: Target): string {
  const pairs = [...query].map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}
