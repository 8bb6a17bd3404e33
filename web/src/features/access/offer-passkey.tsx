// Offers a passkey right after a link has signed somebody in, while the sign-in is fresh.
import { useState, type ReactNode } from "react";
import { Failure } from "../../design/failure.tsx";
import { words } from "../../words/words.ts";
import { addPasskey } from "./passkey.ts";

export function OfferPasskey({ what, onDone }: { what: string; onDone: () => void }): ReactNode {
  const [error, setError] = useState<unknown>();
  return (
    <>
      <p className="mid">{what}</p>
      {error !== undefined &&
        (error instanceof DOMException ? (
          <p className="red small" role="alert">
            {words("invite.passkey.stopped")}
          </p>
        ) : (
          <Failure error={error} />
        ))}
      <button
        type="button"
        className="btn big primary"
        onClick={() => void addPasskey().then(onDone, setError)}
      >
        {words("invite.passkey")}
      </button>
      <button type="button" className="btn big bare" onClick={onDone}>
        {words("invite.passkey.later")}
      </button>
    </>
  );
}
