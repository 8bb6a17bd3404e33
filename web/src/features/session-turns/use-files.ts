// The files of the prompt in a composer. What uploads them is loaded with the first file.
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Attachment, Attachments } from "./attachments.ts";
import type { SentFile } from "../drafts/index.ts";

export interface Files {
  list: readonly Attachment[];
  /** Resolves with why some of them are not taken. */
  add: (files: readonly File[]) => Promise<string | undefined>;
  remove: (id: string) => void;
  restore: (files: readonly SentFile[]) => void;
  clear: () => void;
}

const none: readonly Attachment[] = [];
const never = () => () => {};

export function useFiles(): Files {
  const [store, setStore] = useState<Attachments>();
  const opening = useRef<Promise<Attachments>>(undefined);
  const list = useSyncExternalStore(store?.subscribe ?? never, () => store?.get() ?? none);
  const [acts] = useState(() => {
    const open = () =>
      (opening.current ??= import("./attachments.ts").then(({ createAttachments }) => {
        const made = createAttachments();
        setStore(made);
        return made;
      }));
    const opened = async () => opening.current;
    return {
      add: async (files: readonly File[]) => (await open()).add(files),
      remove: (id: string) => void opened().then((files) => files?.remove(id)),
      restore: (files: readonly SentFile[]) =>
        void (files.length > 0 && open().then((made) => made.restore(files))),
      clear: () => void opened().then((files) => files?.clear()),
    };
  });
  // Uploads of a page that was left are given up. The draft has those that are complete.
  useEffect(() => acts.clear, [acts]);
  return { list, ...acts };
}

/** What a prompt names: the files that are uploaded. */
export function sentFiles(attachments: readonly Attachment[]): SentFile[] {
  return attachments.flatMap(({ fileId, filename, mime, size }) =>
    fileId === undefined ? [] : [{ fileId, filename, mime, size }],
  );
}

/** Whether a file is not there, or not yet: then the prompt waits. */
export const isUploading = (attachments: readonly Attachment[]): boolean =>
  attachments.some(({ fileId }) => fileId === undefined);
