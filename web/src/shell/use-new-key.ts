// C leads to a new session from everywhere but a field or a dialog.
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";

export function useNewKey(isActive: boolean): void {
  const navigate = useNavigate();
  useEffect(() => {
    if (!isActive) return undefined;
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, isComposing, defaultPrevented } = event;
      if (key.toLowerCase() !== "c" || ctrlKey || metaKey || altKey) return;
      const { activeElement } = document;
      const isElsewhere =
        isComposing ||
        defaultPrevented ||
        document.querySelector("dialog[open]") !== null ||
        activeElement?.matches("input, textarea, select, [contenteditable]") ||
        activeElement?.closest("[role='menu']");
      if (isElsewhere) return;
      event.preventDefault();
      void navigate({ to: "/new" });
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [isActive, navigate]);
}
