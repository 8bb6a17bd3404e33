// When a call finds no sign-in, or one that is too old: the page stays readable, and a dialog asks for a sign-in.
import { Suspense, useEffect, useState, type ReactNode } from "react";
import type { Refused } from "../calls/refused.ts";
import { answerSignIn } from "../calls/sign-in-again.ts";
import { part } from "../design/part.tsx";
import type { Person } from "../features/access/index.ts";

export const loadSignInDialog = () => import("./sign-in-dialog.tsx");
const SignInDialog = part(async () => (await loadSignInDialog()).SignInDialog);

interface Question {
  reason: Refused;
  answered: () => void;
  refused: (error: Error) => void;
}

export function SignInGate({ person }: { person: Person }): ReactNode {
  const [question, setQuestion] = useState<Question>();
  useEffect(
    () =>
      answerSignIn(
        (reason) => new Promise((answered, refused) => setQuestion({ reason, answered, refused })),
      ),
    [],
  );
  if (!question) return null;
  return (
    <Suspense>
      <SignInDialog
        person={person}
        reason={question.reason}
        onSignedIn={() => {
          setQuestion(undefined);
          question.answered();
        }}
        onClose={() => {
          setQuestion(undefined);
          question.refused(question.reason);
        }}
      />
    </Suspense>
  );
}
