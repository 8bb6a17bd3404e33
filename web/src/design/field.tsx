// One input with its name, a hint, and what is wrong with it.
import { useId, type InputHTMLAttributes, type ReactNode } from "react";

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  hint?: string | undefined;
  wrong?: string | undefined;
}

export function Field({ label, hint, wrong, ...input }: FieldProps): ReactNode {
  const aboutId = useId();
  const about = wrong ?? hint;
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        aria-invalid={wrong !== undefined}
        {...(about !== undefined && { "aria-describedby": aboutId })}
        {...input}
      />
      {about !== undefined && (
        <span id={aboutId} className={wrong === undefined ? "hint" : "wrong"}>
          {about}
        </span>
      )}
    </label>
  );
}
