// The dialogs of a session. Loaded once the page of a session is shown.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import type { OpenDialog } from "./acts.ts";
import { EndDialog } from "./end-dialog.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { PushDialog } from "./push-dialog.tsx";
import { RenameDialog } from "./rename-dialog.tsx";
import { RevertDialog } from "./revert-dialog.tsx";

export function SessionDialogs({
  session,
  isRunning,
  open,
  onOpen,
}: {
  session: Session;
  isRunning: boolean;
  open: OpenDialog;
  onOpen: (dialog: OpenDialog | undefined) => void;
}): ReactNode {
  const close = () => onOpen(undefined);
  return (
    <>
      {open.is === "push" && <PushDialog session={session} onClose={close} />}
      {open.is === "end" && (
        <EndDialog session={session} onPush={() => onOpen({ is: "push" })} onClose={close} />
      )}
      {open.is === "rename" && <RenameDialog session={session} onClose={close} />}
      {open.is === "fork" && <ForkDialog session={session} onClose={close} />}
      {open.is === "revert" && (
        <RevertDialog session={session} prompt={open} isRunning={isRunning} onClose={close} />
      )}
    </>
  );
}
