// The files of a prompt that is being written: pictures as themselves, with how far each upload is.
import { File as FileIcon, X } from "lucide-react";
import type { ReactNode } from "react";
import { Plain, plainText } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import type { Attachment } from "./attachments.ts";

export function FileChips({
  files,
  onRemove,
}: {
  files: readonly Attachment[];
  onRemove: (id: string) => void;
}): ReactNode {
  return (
    <ul className="files" aria-label={words("files")}>
      {files.map(({ id, filename, picture, progress, problem, fileId }) => (
        <li key={id} className={problem === undefined ? "file" : "file failed"}>
          {picture === undefined ? (
            <FileIcon className="icon dim" aria-hidden />
          ) : (
            <img src={picture} alt="" />
          )}
          <span className="grow">
            <span className="cut">
              <Plain text={filename} />
            </span>
            {problem !== undefined && <span className="small red">{problem}</span>}
            {problem === undefined && fileId === undefined && (
              <progress value={progress} aria-label={words("files.uploading")} />
            )}
          </span>
          <button
            type="button"
            className="btn bare sq sm"
            aria-label={words("files.remove", { name: plainText(filename) })}
            onClick={() => onRemove(id)}
          >
            <X className="icon s" aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  );
}
