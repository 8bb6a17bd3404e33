// The page of signing in.
import type { ReactNode } from "react";
import { Logo } from "../../design/logo.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { words } from "../../words/words.ts";
import { sentenceOfError } from "./sign-in-errors.ts";
import { SignInForm } from "./sign-in-form.tsx";

export function SignInPage({
  error,
  organizationId,
  onSignedIn,
}: {
  /** The code with which single sign-on has led back here. */
  error?: string | undefined;
  organizationId?: string | undefined;
  onSignedIn: () => void;
}): ReactNode {
  usePageTitle(words("sign_in.submit"));
  return (
    <main className="gate">
      <div>
        <div className="head">
          <Logo size={32} />
          <h1>{words("sign_in.title")}</h1>
        </div>
        <SignInForm
          organizationId={organizationId}
          problem={error === undefined ? undefined : sentenceOfError(error)}
          onSignedIn={onSignedIn}
        />
        <p className="dim small">{words("sign_in.about")}</p>
      </div>
    </main>
  );
}
