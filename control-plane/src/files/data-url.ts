// The bytes in a data: URL.

/** Undefined for any other URL, or if the content cannot be decoded. */
export function decodeDataUrl(url: string): Buffer | undefined {
  const [, parameters = "", content = ""] = /^data:([^,]*),(.*)$/is.exec(url) ?? [];
  if (!/^data:[^,]*,/i.test(url)) return undefined;
  if (!/;\s*base64\s*$/i.test(parameters)) return decodePercents(content);
  const text = content.replaceAll(/\s/g, "");
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, "base64");
}

function decodePercents(content: string): Buffer | undefined {
  try {
    return Buffer.from(decodeURIComponent(content));
  } catch {
    return undefined;
  }
}
