// The files of a prompt: pictures as themselves, from bytes that begin as a picture does, and everything else by its
// name. Every file takes the same room, so nothing moves when a picture arrives.
import { File as FileIcon } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { download } from "../../calls/download.ts";
import { Dialog } from "../../design/dialog.tsx";
import { lookedAtBytes, pictureType } from "../../design/first-bytes.ts";
import { Plain, plainText } from "../../design/plain.tsx";
import { size as inWords } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import type { SentFile } from "./row.ts";

export function PromptFiles({ files }: { files: readonly SentFile[] }): ReactNode {
  return (
    <ul className="sent-files" aria-label={words("files")}>
      {files.map((file, at) => (
        <li key={at}>
          <PromptFile file={file} />
        </li>
      ))}
    </ul>
  );
}

function PromptFile({ file }: { file: SentFile }): ReactNode {
  const { filename, size } = file;
  const name = filename ?? words("files.unnamed");
  const picture = usePicture(file);
  const [isOpen, setIsOpen] = useState(false);
  if (picture === undefined) {
    return (
      <span className="sent-file">
        <FileIcon className="icon dim" aria-hidden />
        <span className="cut">
          <Plain text={name} />
        </span>
        {size !== null && <span className="dim">{inWords(size)}</span>}
      </span>
    );
  }
  return (
    <>
      <button
        type="button"
        className="sent-file"
        aria-label={words("files.open", { name: plainText(name) })}
        onClick={() => setIsOpen(true)}
      >
        <img src={picture} alt="" />
      </button>
      {isOpen && (
        <Dialog title={name} onClose={() => setIsOpen(false)}>
          <img className="picture" src={picture} alt={plainText(name)} />
        </Dialog>
      )}
    </>
  );
}

/** An address of this page; undefined until the file is read, and for a file that is no picture or is gone. */
function usePicture({ fileId, mime }: SentFile): string | undefined {
  const [picture, setPicture] = useState<string>();
  // Only saves reading: what the file is, its bytes say.
  const mayBe = fileId !== null && mime.startsWith("image/") && !mime.includes("svg");
  useEffect(() => {
    if (!mayBe) return undefined;
    const stop = new AbortController();
    let address: string | undefined;
    const show = (bytes: ArrayBuffer) => {
      const type = pictureType(new Uint8Array(bytes.slice(0, lookedAtBytes)));
      if (type === undefined || stop.signal.aborted) return;
      address = URL.createObjectURL(new Blob([bytes], { type }));
      setPicture(address);
    };
    // A file that is gone is shown by its name.
    download(fileId, stop.signal).then(show, () => {});
    return () => {
      stop.abort();
      if (address !== undefined) URL.revokeObjectURL(address);
    };
  }, [fileId, mayBe]);
  return picture;
}
