// Which pictures are shown: those whose first bytes are of a format that a browser draws and that contains no program.
// A name or a type that somebody gives says nothing.

/** As many bytes as are looked at. */
export const lookedAtBytes = 12;

/** The media type of the picture; undefined for everything else, such as SVG. */
export function pictureType(first: Uint8Array): string | undefined {
  const has = (at: number, text: string) =>
    [...text].every((letter, index) => first[at + index] === letter.charCodeAt(0));
  if (has(0, "\u0089PNG\r\n\u001a\n")) return "image/png";
  if (has(0, "\u00ff\u00d8\u00ff")) return "image/jpeg";
  if (has(0, "GIF87a") || has(0, "GIF89a")) return "image/gif";
  if (has(0, "RIFF") && has(8, "WEBP")) return "image/webp";
  if (has(4, "ftypavif") || has(4, "ftypavis")) return "image/avif";
  return undefined;
}
