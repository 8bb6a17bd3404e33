// Asks for a sign-in, and says why.
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isRefused, type Refused } from "../calls/refused.ts";
import { Dialog } from "../design/dialog.tsx";
import { personQuery, type Person } from "../features/access/index.ts";
import { words } from "../words/words.ts";
import { SignInAs } from "./sign-in-as.tsx";

export function SignInDialog({
  person,
  reason,
  onSignedIn,
  onClose,
}: {
  person: Person;
  reason: Refused;
  onSignedIn: () => void;
  onClose: () => void;
}): ReactNode {
  const queries = useQueryClient();
  const isStale = isRefused(reason, "sign_in_again");
  const goOn = () => {
    void queries.invalidateQueries({ queryKey: personQuery.queryKey });
    onSignedIn();
  };
  return (
    <Dialog title={words(isStale ? "sign_in.fresh" : "sign_in.again")} onClose={onClose}>
      <p className="mid">{words(isStale ? "sign_in.fresh.what" : "sign_in.again.what")}</p>
      <SignInAs person={person} isStale={isStale} onSignedIn={goOn} />
    </Dialog>
  );
}
