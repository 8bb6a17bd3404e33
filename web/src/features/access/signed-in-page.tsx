// What the window shows in which a sign-in was renewed, if the browser lets it not close itself.
import { useEffect, type ReactNode } from "react";
import { usePageTitle } from "../../design/page-title.ts";
import { words } from "../../words/words.ts";
import { reportRenewal } from "./provider.ts";
import { sentenceOfError } from "./sign-in-errors.ts";

export function SignedInPage({ error }: { error: string | undefined }): ReactNode {
  usePageTitle(words("sign_in.submit"));
  useEffect(() => {
    reportRenewal(error);
    window.close();
  }, [error]);
  return (
    <main className="gate">
      <div>
        <p>{error === undefined ? words("sign_in.sso.renewed") : sentenceOfError(error)}</p>
        <p className="mid">{words("sign_in.sso.close")}</p>
      </div>
    </main>
  );
}
