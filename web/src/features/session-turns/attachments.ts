// The files of a prompt that is being written. An upload begins as soon as a file is added; limits are checked before.
import { upload } from "../../calls/upload.ts";
import { words } from "../../words/words.ts";
import { lookedAtBytes, pictureType } from "../../design/first-bytes.ts";
import type { SentFile } from "../drafts/index.ts";

export interface Attachment {
  id: string;
  filename: string;
  mime: string;
  size: number;
  /** Undefined until it is uploaded. */
  fileId: string | undefined;
  /** The uploaded part, from 0 to 1. */
  progress: number;
  /** Why it was not uploaded. */
  problem: string | undefined;
  /** The address of a picture that this page holds. */
  picture: string | undefined;
}

const limits = { files: 20, fileBytes: 16 * 1024 ** 2, allBytes: 32 * 1024 ** 2 };

export interface Attachments {
  get: () => readonly Attachment[];
  subscribe: (onChange: () => void) => () => void;
  /** Returns why some of them are not taken. */
  add: (files: readonly File[]) => string | undefined;
  remove: (id: string) => void;
  /** Files that were uploaded for an earlier draft. */
  restore: (files: readonly SentFile[]) => void;
  clear: () => void;
}

export type Upload = typeof upload;

export function createAttachments(send: Upload = upload): Attachments {
  const listeners = new Set<() => void>();
  const stops = new Map<string, AbortController>();
  let all: readonly Attachment[] = [];
  const set = (next: readonly Attachment[]) => {
    all = next;
    for (const listener of listeners) listener();
  };
  const change = (id: string, to: Partial<Attachment>) =>
    set(all.map((each) => (each.id === id ? { ...each, ...to } : each)));

  async function begin(id: string, file: File, filename: string): Promise<void> {
    const stop = new AbortController();
    stops.set(id, stop);
    try {
      const first = new Uint8Array(await file.slice(0, lookedAtBytes).arrayBuffer());
      const type = pictureType(first);
      if (type !== undefined && !stop.signal.aborted) {
        change(id, { mime: type, picture: URL.createObjectURL(new Blob([file], { type })) });
      }
      const { fileId } = await send(file, {
        filename,
        onProgress: (progress) => change(id, { progress }),
        signal: stop.signal,
      });
      change(id, { fileId, progress: 1 });
    } catch (error) {
      if (stop.signal.aborted) return;
      change(id, { problem: error instanceof Error ? error.message : String(error) });
    } finally {
      stops.delete(id);
    }
  }

  const forget = ({ id, picture }: Attachment) => {
    stops.get(id)?.abort();
    if (picture !== undefined) URL.revokeObjectURL(picture);
  };

  return {
    get: () => all,
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    add(files) {
      let problem: string | undefined;
      let bytes = all.reduce((sum, { size }) => sum + size, 0);
      for (const file of files) {
        if (all.length >= limits.files) problem = words("files.too_many", { n: limits.files });
        else if (file.size > limits.fileBytes)
          problem = words("files.too_large", { name: file.name });
        else if (bytes + file.size > limits.allBytes) problem = words("files.too_large_together");
        else {
          const id = crypto.randomUUID();
          const filename = file.name || words("files.unnamed");
          const { size, type } = file;
          const mime = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream";
          bytes += size;
          const state = { fileId: undefined, progress: 0, problem: undefined, picture: undefined };
          set([...all, { id, filename, mime, size, ...state }]);
          void begin(id, file, filename);
        }
      }
      return problem;
    },
    remove(id) {
      const found = all.find((each) => each.id === id);
      if (!found) return;
      forget(found);
      set(all.filter((each) => each !== found));
    },
    restore(files) {
      const known = new Set(all.map(({ fileId }) => fileId));
      const added = files.filter(({ fileId }) => !known.has(fileId));
      if (added.length === 0) return;
      const state = { progress: 1, problem: undefined, picture: undefined };
      set([...all, ...added.map((file) => ({ id: crypto.randomUUID(), ...file, ...state }))]);
    },
    clear() {
      all.forEach(forget);
      set([]);
    },
  };
}
