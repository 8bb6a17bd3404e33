// Chooses a directory below the roots of a host.
import { ArrowUp, Folder, FolderGit2 } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { read } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import type { Directory } from "./place.ts";

export function DirectoryDialog({
  instanceId,
  roots,
  onChoose,
  onClose,
}: {
  instanceId: string;
  roots: readonly Directory[];
  onChoose: (directory: Directory) => void;
  onClose: () => void;
}): ReactNode {
  /** From a root to the directory that is open; empty: the list of roots. */
  const [way, setWay] = useState<readonly Directory[]>([]);
  const open = way.at(-1);
  const { data, error } = useQuery({
    ...read("browse_directory", { instanceId, path: open?.path ?? "" }),
    enabled: open !== undefined,
  });
  const listed = open === undefined ? roots : data?.directories;
  return (
    <Dialog
      title={words("start.browse.title")}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn" onClick={onClose}>
            {words("cancel")}
          </button>
          <button
            type="button"
            className="btn primary"
            disabled={open === undefined}
            onClick={() => open && onChoose(open)}
          >
            {words("start.browse.use")}
          </button>
        </>
      }
    >
      {open && (
        <p className="row">
          <button
            type="button"
            className="btn bare sq"
            aria-label={words("start.browse.up")}
            onClick={() => setWay(way.slice(0, -1))}
          >
            <ArrowUp className="icon" aria-hidden />
          </button>
          <span className="mono cut">
            <Plain text={open.path} />
          </span>
        </p>
      )}
      {error && <Failure error={error} />}
      <div className="directories">
        {listed?.map((directory) => (
          <button
            key={directory.path}
            type="button"
            className="btn bare"
            onClick={() => setWay([...way, directory])}
          >
            {directory.isGitRepository ? (
              <FolderGit2 className="icon dim" aria-hidden />
            ) : (
              <Folder className="icon dim" aria-hidden />
            )}
            <span className="mono cut">
              <Plain
                text={
                  open === undefined
                    ? directory.path
                    : directory.path.slice(directory.path.lastIndexOf("/") + 1)
                }
              />
            </span>
          </button>
        ))}
        {listed?.length === 0 && <p className="dim">{words("start.browse.none")}</p>}
        {data?.truncated && <p className="dim">{words("start.browse.cut")}</p>}
      </div>
    </Dialog>
  );
}
