// Renews a sign-in with an identity provider in a window beside the page, so that nothing on the page is lost.
import { useEffect, useEffectEvent, useState, type ReactNode } from "react";
import { Refused } from "../../calls/refused.ts";
import { words } from "../../words/words.ts";
import { beginProvider, followRenewal } from "./provider.ts";
import { sentenceOfError } from "./sign-in-errors.ts";

export function RenewWithProvider({
  userId,
  organizationId,
  isStale,
  onSignedIn,
}: {
  /** Only this person may go on. */
  userId: string;
  organizationId: string;
  /** Whether the person has to prove who they are. Otherwise the provider asks nothing if it knows the person. */
  isStale: boolean;
  onSignedIn: () => void;
}): ReactNode {
  const [problem, setProblem] = useState<string>();
  /** The provider knows somebody else, whom it would name again without asking. */
  const [isOther, setIsOther] = useState(false);
  const end = useEffectEvent((error: string | null) => {
    if (error === null) onSignedIn();
    else {
      setProblem(sentenceOfError(error));
      setIsOther(error === "other_account");
    }
  });
  useEffect(() => followRenewal((error) => end(error)), []);

  async function renew(): Promise<void> {
    setProblem(undefined);
    // Browsers allow a window only at once after a press.
    const beside = window.open("", "_blank", "popup,width=480,height=720");
    if (!beside) return setProblem(words("sign_in.sso.blocked"));
    try {
      const how = isStale || isOther ? { again: true } : { silent: true };
      beside.location.href = await beginProvider(organizationId, { renews: userId, ...how });
    } catch (error) {
      beside.close();
      setProblem(error instanceof Refused ? error.message : words("unanswered"));
    }
  }

  return (
    <>
      <p className="red small" role="alert">
        {problem}
      </p>
      <button type="button" className="btn big primary" onClick={() => void renew()}>
        {words("sign_in.sso")}
      </button>
    </>
  );
}
