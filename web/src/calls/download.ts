// Reads the bytes of an uploaded file. The service sends them as a download, so no browser interprets them.
import { pageHeaders } from "./page-person.ts";

/** Throws if the service does not have the file any more, or does not answer. */
export async function download(fileId: string, signal: AbortSignal): Promise<ArrayBuffer> {
  const path = `/api/files/${encodeURIComponent(fileId)}`;
  const headers = pageHeaders();
  const response = await fetch(path, { headers, cache: "no-store", redirect: "error", signal });
  if (!response.ok) throw new Error(`The file was not sent: ${response.status}.`);
  return response.arrayBuffer();
}
