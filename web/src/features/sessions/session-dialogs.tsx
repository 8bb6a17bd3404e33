// The dialogs of a session. Each is loaded when it is opened first.
import type { Session } from "@hawser/client";
import { lazy, Suspense, type ReactNode } from "react";
import type { OpenDialog } from "./acts.ts";

const PushDialog = lazy(() =>
  import("./push-dialog.tsx").then((dialog) => ({ default: dialog.PushDialog })),
);
const EndDialog = lazy(() =>
  import("./end-dialog.tsx").then((dialog) => ({ default: dialog.EndDialog })),
);
const RenameDialog = lazy(() =>
  import("./rename-dialog.tsx").then((dialog) => ({ default: dialog.RenameDialog })),
);
const ForkDialog = lazy(() =>
  import("./fork-dialog.tsx").then((dialog) => ({ default: dialog.ForkDialog })),
);
const RevertDialog = lazy(() =>
  import("./revert-dialog.tsx").then((dialog) => ({ default: dialog.RevertDialog })),
);

export function SessionDialogs({
  session,
  isRunning,
  open,
  onOpen,
}: {
  session: Session;
  isRunning: boolean;
  open: OpenDialog | undefined;
  onOpen: (dialog: OpenDialog | undefined) => void;
}): ReactNode {
  const close = () => onOpen(undefined);
  return (
    <Suspense fallback={null}>
      {open?.is === "push" && <PushDialog session={session} onClose={close} />}
      {open?.is === "end" && (
        <EndDialog session={session} onPush={() => onOpen({ is: "push" })} onClose={close} />
      )}
      {open?.is === "rename" && <RenameDialog session={session} onClose={close} />}
      {open?.is === "fork" && <ForkDialog session={session} onClose={close} />}
      {open?.is === "revert" && (
        <RevertDialog session={session} prompt={open} isRunning={isRunning} onClose={close} />
      )}
    </Suspense>
  );
}
