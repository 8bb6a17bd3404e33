// The changes of a session in the panel, and as a tab where there is no room for two columns: files, then their lines.
import type { Session } from "@hawser/client";
import { useRef, useState, type ReactNode } from "react";
import { words } from "../../words/words.ts";
import type { LogSnapshot } from "../session-log/index.ts";
import { ChangesView } from "./changes-view.tsx";
import type { ChangedFile } from "./changes.ts";
import { DiffView, type DiffHandle } from "./diff-view.tsx";
import { FileList } from "./file-list.tsx";
import { Tray } from "./tray.tsx";
import { useReviewing } from "./use-reviewing.ts";

interface ChangesTabProps {
  session: Session;
  snapshot: LogSnapshot;
}

export function ChangesTab({ session, snapshot }: ChangesTabProps): ReactNode {
  return (
    <ChangesView session={session} snapshot={snapshot}>
      {(files, note) => <Changes session={session} files={files} note={note} />}
    </ChangesView>
  );
}

function Changes({
  session,
  files,
  note,
}: {
  session: Session;
  files: readonly ChangedFile[];
  note: ReactNode;
}): ReactNode {
  const reviewing = useReviewing(session, files, "inline");
  const diff = useRef<DiffHandle>(null);
  const [current, setCurrent] = useState<string>();
  return (
    <div className="changes">
      <div className="changes-top">
        <FileList
          files={files}
          reads={reviewing.reads}
          current={current}
          isShort={false}
          onChoose={(path) => {
            diff.current?.toFile(path);
            setCurrent(path);
          }}
        />
        {note}
      </div>
      {reviewing.rows.length > 0 && (
        <DiffView
          ref={diff}
          reviewing={reviewing}
          layout="inline"
          label={words("review.inline")}
          tools={null}
          onFile={setCurrent}
        />
      )}
      <Tray reviewing={reviewing} />
    </div>
  );
}
