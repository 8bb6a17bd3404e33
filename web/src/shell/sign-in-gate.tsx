// When a call finds no sign-in, or one that is too old: the page stays readable, and a dialog asks for a sign-in.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { isRefused, type Refused } from "../calls/refused.ts";
import { answerSignIn } from "../calls/sign-in-again.ts";
import { Dialog } from "../design/dialog.tsx";
import { personQuery, SignInForm, type Person } from "../features/access/index.ts";
import { words } from "../words/words.ts";

interface Question {
  reason: Refused;
  answered: () => void;
  refused: (error: Error) => void;
}

export function SignInGate({ person }: { person: Person }): ReactNode {
  const [question, setQuestion] = useState<Question>();
  const queries = useQueryClient();
  useEffect(
    () =>
      answerSignIn(
        (reason) => new Promise((answered, refused) => setQuestion({ reason, answered, refused })),
      ),
    [],
  );
  if (!question) return null;
  const isStale = isRefused(question.reason, "sign_in_again");
  return (
    <Dialog
      title={words(isStale ? "sign_in.fresh" : "sign_in.again")}
      onClose={() => {
        setQuestion(undefined);
        question.refused(question.reason);
      }}
    >
      <p className="mid">{words(isStale ? "sign_in.fresh.what" : "sign_in.again.what")}</p>
      <SignInForm
        email={person.user.email}
        onSignedIn={() => {
          setQuestion(undefined);
          void queries.invalidateQueries({ queryKey: personQuery.queryKey });
          question.answered();
        }}
      />
    </Dialog>
  );
}
