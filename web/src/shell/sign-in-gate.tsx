// When a call finds no sign-in, or one that is too old: the page stays readable, and a dialog asks for a sign-in. When
// somebody else has signed in with this browser, the page is covered.
import { useQueryClient } from "@tanstack/react-query";
import {
  Suspense,
  useEffect,
  useEffectEvent,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { followTabs, pagePerson } from "../calls/page-person.ts";
import type { Refused } from "../calls/refused.ts";
import { answerSignIn } from "../calls/sign-in-again.ts";
import { part, useLoadAhead } from "../design/part.tsx";
import { loadSignInForm, type Person } from "../features/access/index.ts";

const loadSignInDialog = () => import("./sign-in-dialog.tsx");
const loadOtherPerson = () => import("./other-person.tsx");
const OtherPerson = part(async () => (await loadOtherPerson()).OtherPerson);
const SignInDialog = part(async () => (await loadSignInDialog()).SignInDialog);
const nextParts = [loadSignInDialog, loadOtherPerson, loadSignInForm];

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
  const queries = useQueryClient();
  const isOther = useSyncExternalStore(pagePerson.subscribe, pagePerson.isOther);
  useEffect(followTabs, []);
  useLoadAhead(nextParts);
  const goOn = useEffectEvent(() => {
    // What was refused meanwhile is read again, and streams connect with the new sign-in.
    void queries.invalidateQueries();
    setQuestion(undefined);
    question?.answered();
  });
  useEffect(() => (isOther ? () => goOn() : undefined), [isOther]);
  if (isOther) {
    return (
      // Hides the page while the code of the dialog is loaded, and if that code is gone after an update.
      <div className="cover">
        <Suspense>
          <OtherPerson person={person} />
        </Suspense>
      </div>
    );
  }
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
