// The changed files: letter, path, lines added and removed.
import type { ReactNode } from "react";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import type { ChangedFile, FileRead } from "./changes.ts";
import { statusOf } from "./file-head.tsx";

const letters = { added: "A", modified: "M", deleted: "D", renamed: "R" } as const;

export function FileList({
  files,
  reads,
  current,
  isShort,
  onChoose,
}: {
  files: readonly ChangedFile[];
  reads: ReadonlyMap<string, FileRead>;
  /** The file that is being read. */
  current: string | undefined;
  /** Names without folders. */
  isShort: boolean;
  onChoose: (path: string) => void;
}): ReactNode {
  return (
    <ul className="files-list">
      {files.map((file) => {
        const { path, added, removed } = file;
        const nameAt = path.lastIndexOf("/") + 1;
        const status = statusOf(file, reads.get(path)?.read?.patch);
        return (
          <li key={path}>
            <button
              type="button"
              aria-current={path === current}
              title={path}
              onClick={() => onChoose(path)}
            >
              <span className={`letter ${status ?? ""}`}>
                {status && (
                  <>
                    <span aria-hidden>{letters[status]}</span>
                    <span className="sr">{words(`changes.${status}`)}</span>
                  </>
                )}
              </span>
              <span className="cut">
                {!isShort && (
                  <span className="dir">
                    <Plain text={path.slice(0, nameAt)} />
                  </span>
                )}
                <Plain text={path.slice(nameAt)} />
              </span>
              <span className="pm plus">{added > 0 && `+${added}`}</span>
              <span className="pm minus">{removed > 0 && `−${removed}`}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
