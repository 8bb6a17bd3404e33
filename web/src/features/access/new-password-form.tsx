// The form with which somebody who has a link chooses the first password of an account.
import type { ReactNode, SubmitEvent } from "react";
import { Refused } from "../../calls/refused.ts";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";

const smallestPassword = 12;

export function NewPasswordForm({
  email,
  submit,
  error,
  isBusy,
  children,
  onPassword,
}: {
  email: string;
  /** What the button says. */
  submit: string;
  /** What went wrong before. */
  error: unknown;
  isBusy: boolean;
  /** Further fields. */
  children?: ReactNode;
  onPassword: (password: string) => void;
}): ReactNode {
  const wrong = error instanceof Refused ? error.wrong("password") : undefined;
  return (
    <form
      onSubmit={(event: SubmitEvent<HTMLFormElement>) => {
        event.preventDefault();
        onPassword(new FormData(event.currentTarget).get("password") as string);
      }}
    >
      {/* Password managers file the password under this name. */}
      <input type="hidden" name="email" autoComplete="username" value={email} readOnly />
      <Field
        label={words("invite.password")}
        hint={words("invite.password.hint", { n: smallestPassword })}
        wrong={wrong}
        name="password"
        type="password"
        autoComplete="new-password"
        minLength={smallestPassword}
        maxLength={1000}
        required
      />
      {children}
      {error !== undefined && wrong === undefined && <Failure error={error} />}
      <button type="submit" className="btn big primary" disabled={isBusy}>
        {submit}
      </button>
    </form>
  );
}
