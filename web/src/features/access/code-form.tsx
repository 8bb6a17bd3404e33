// Typing the code that a program shows.
import type { ReactNode, SubmitEvent } from "react";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";

export function CodeForm({ onCode }: { onCode: (code: string) => void }): ReactNode {
  return (
    <form
      onSubmit={(event: SubmitEvent<HTMLFormElement>) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget).get("code") as string;
        // People type spaces where the program shows a hyphen.
        onCode(typed.trim().replaceAll(/[^\w-]+/g, "-"));
      }}
    >
      <Field
        label={words("device.code")}
        hint={words("device.code.hint")}
        name="code"
        required
        maxLength={40}
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
      />
      <button type="submit" className="btn big primary">
        {words("device.go_on")}
      </button>
    </form>
  );
}
