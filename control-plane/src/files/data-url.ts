// The bytes that a data: address carries in itself.

/** Nothing for another address, or one whose content cannot be read. */
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
