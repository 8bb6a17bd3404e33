// Whether the waiting prompts of a session are open, kept on this device.
import { useState } from "react";

const storedAs = (sessionId: string) => `hawser.waiting.${sessionId}`;

export function useWaitingOpen(sessionId: string): [boolean, (isOpen: boolean) => void] {
  const [isOpen, setIsOpen] = useState(() => {
    try {
      return localStorage.getItem(storedAs(sessionId)) !== null;
    } catch {
      return false;
    }
  });
  const change = (next: boolean) => {
    setIsOpen(next);
    try {
      if (next) localStorage.setItem(storedAs(sessionId), "open");
      else localStorage.removeItem(storedAs(sessionId));
    } catch {
      // A browser that keeps nothing: it stays as long as the page.
    }
  };
  return [isOpen, change];
}
