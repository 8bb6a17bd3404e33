// Uploads a file for a prompt. `fetch` does not report progress, so this is the one request that is made otherwise.
import type { RefusalBody } from "@hawser/client";
import { pageHeaders } from "./page-person.ts";
import { isRefused, Unanswered, type Refused } from "./refused.ts";
import { refusedBy } from "./request.ts";
import { askToSignIn, signInsSoFar } from "./sign-in-again.ts";

export interface UploadOptions {
  filename: string;
  /** The sent part, from 0 to 1. */
  onProgress: (sent: number) => void;
  signal: AbortSignal;
}

/** Throws `Refused` or `Unanswered`. Without a sign-in it asks the person to sign in, and then begins again. */
export async function upload(file: Blob, options: UploadOptions): Promise<{ fileId: string }> {
  for (;;) {
    const soFar = signInsSoFar();
    try {
      return await send(file, options);
    } catch (error) {
      if (!isRefused(error, "unauthenticated") || options.signal.aborted) throw error;
      await askToSignIn(error as Refused, soFar);
    }
  }
}

function send(
  file: Blob,
  { filename, onProgress, signal }: UploadOptions,
): Promise<{ fileId: string }> {
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    const lost = () => reject(new Unanswered("Hawser did not answer. The connection may be down."));
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      if (total > 0) onProgress(loaded / total);
    });
    request.addEventListener("load", () => {
      const answer = readJson(request.responseText) as
        | { fileId?: string; error?: RefusalBody }
        | undefined;
      if (answer?.fileId !== undefined) resolve({ fileId: answer.fileId });
      else if (answer?.error) reject(refusedBy(request.status, answer.error));
      else lost();
    });
    request.addEventListener("error", lost);
    request.addEventListener("abort", lost);
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.open("POST", `/api/files?filename=${encodeURIComponent(filename.toWellFormed())}`);
    for (const [name, value] of Object.entries(pageHeaders()))
      request.setRequestHeader(name, value);
    // The service takes no request with a sign-in and the type of a form's body, such as text/plain. The prompt names
    // the file's own type.
    request.setRequestHeader("content-type", "application/octet-stream");
    request.send(file);
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
