// Signing in with a passkey or a password: on its own page, and in place when a sign-in has ended.
import { KeyRound } from "lucide-react";
import { useQuery } from "@tanstack/react-query";
import { useState, type SubmitEvent, type ReactNode } from "react";
import { Refused } from "../../calls/refused.ts";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";
import { canUsePasskeys, signInWithPasskey } from "./passkey.ts";
import { signIn } from "./person.ts";
import { beginProvider, waysQuery } from "./provider.ts";

/** `email`: only this person may go on. */
export function SignInForm({
  email,
  organizationId,
  problem: given,
  onSignedIn,
}: {
  email?: string | undefined;
  /** Whose identity provider is offered; undefined offers none. */
  organizationId?: string | undefined;
  /** What went wrong before. */
  problem?: string | undefined;
  onSignedIn: () => void;
}): ReactNode {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState(given);
  const { data: ways } = useQuery(waysQuery(organizationId));

  async function attempt(way: () => Promise<unknown>): Promise<void> {
    setIsBusy(true);
    setProblem(undefined);
    try {
      await way();
    } catch (error) {
      setProblem(sentenceOf(error));
      return;
    } finally {
      setIsBusy(false);
    }
    onSignedIn();
  }

  async function leave(organizationId: string): Promise<void> {
    setIsBusy(true);
    try {
      location.assign(await beginProvider(organizationId));
    } catch (error) {
      setProblem(sentenceOf(error));
      setIsBusy(false);
    }
  }

  function submit(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const given = email ?? (form.get("email") as string);
    void attempt(() => signIn.withPassword(given, form.get("password") as string));
  }

  return (
    <>
      {ways?.provider === true && organizationId !== undefined && (
        <button
          type="button"
          className="btn big primary"
          disabled={isBusy}
          onClick={() => void leave(organizationId)}
        >
          {words("sign_in.sso")}
        </button>
      )}
      {canUsePasskeys() && (
        <>
          <button
            type="button"
            className="btn big"
            disabled={isBusy}
            onClick={() => void attempt(signInWithPasskey)}
          >
            <KeyRound className="icon" aria-hidden /> {words("sign_in.passkey")}
          </button>
          <div className="or">{words("sign_in.or")}</div>
        </>
      )}
      <form onSubmit={submit}>
        <Field
          label={words("sign_in.email")}
          name="email"
          type="email"
          autoComplete="username"
          required
          {...(email !== undefined && { value: email, readOnly: true })}
        />
        <Field
          label={words("sign_in.password")}
          name="password"
          type="password"
          autoComplete="current-password"
          required
        />
        <p className="red small" role="alert">
          {problem}
        </p>
        <button
          type="submit"
          className={ways?.provider === true ? "btn big" : "btn big primary"}
          disabled={isBusy}
        >
          {words("sign_in.submit")}
        </button>
      </form>
    </>
  );
}

/** What a person can do about it. Unknown refusals speak for themselves. */
function sentenceOf(error: unknown): string {
  if (error instanceof DOMException) return words("sign_in.passkey.stopped");
  if (!(error instanceof Refused)) return words("unanswered");
  switch (error.code) {
    case "unauthenticated":
      return words("sign_in.error.unauthenticated");
    case "rate_limited":
      return words("sign_in.error.rate_limited");
    case "passkeys_unavailable":
      return words("sign_in.error.passkeys_unavailable");
    default:
      return error.message;
  }
}
