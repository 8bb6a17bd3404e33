// Files for prompts: uploads and downloads, repeated like calls. A repeated upload can store the file twice,
// under two ids; the service removes files that no prompt uses.
import type { CallOptions } from "./actions.ts";
import { repeat } from "./repeat.ts";
import { broken, request, type Service } from "./request.ts";

/** A file for prompts. Use `fileId` and `mime` in an attachment of send_prompt. */
export interface UploadedFile {
  fileId: string;
  /** In bytes. */
  size: number;
  mime: string;
}

export interface UploadOptions extends Omit<CallOptions, "idempotencyKey"> {
  /** The media type. Default: application/octet-stream. */
  mime?: string;
  /** The name that people and the agent see. */
  filename?: string;
}

export function uploadFile(
  service: Service,
  content: string | Uint8Array<ArrayBuffer> | Blob,
  { mime = "application/octet-stream", filename, ...options }: UploadOptions = {},
): Promise<UploadedFile> {
  const query = filename === undefined ? "" : `?filename=${encodeURIComponent(filename)}`;
  return repeat(service, options, {
    async attempt(signal) {
      const response = await request(service, "uploadFile", `/api/files${query}`, {
        method: "POST",
        headers: { "content-type": mime },
        body: content,
        signal,
      });
      return (await response
        .json()
        .catch((error: unknown) => broken("uploadFile", error))) as UploadedFile;
    },
  });
}

export function downloadFile(
  service: Service,
  fileId: string,
  options: Omit<CallOptions, "idempotencyKey"> = {},
): Promise<Uint8Array<ArrayBuffer>> {
  return repeat(service, options, {
    async attempt(signal) {
      const path = `/api/files/${encodeURIComponent(fileId)}`;
      const response = await request(service, "downloadFile", path, { signal });
      const bytes = response.arrayBuffer();
      return new Uint8Array(await bytes.catch((error: unknown) => broken("downloadFile", error)));
    },
  });
}
