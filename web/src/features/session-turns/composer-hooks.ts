// Keys and drops of the composer that come from outside of its field.
import { useEffect, useEffectEvent, useState } from "react";
import { createEscape } from "./composer-keys.ts";

type FieldRef = { current: HTMLTextAreaElement | null };

/**
 * Esc leaves the field; the second one within a moment stops. Without the field's focus both can come from anywhere on the
 * page. Returns what Esc does in the field, and whether a second one would stop.
 */
export function useLeaveOrStop(
  field: FieldRef,
  isRunning: boolean,
  onStop: () => void,
): { leaveOrStop: () => void; isLeaving: boolean } {
  const [isLeaving, setIsLeaving] = useState(false);
  const [escape] = useState(createEscape);
  const leaveOrStop = () => {
    field.current?.blur();
    if (!isRunning) return;
    if (escape(performance.now()) === "stop") onStop();
    else setIsLeaving(true);
  };
  const onEscape = useEffectEvent(leaveOrStop);
  useEffect(() => {
    if (!isRunning) return undefined;
    const onKey = ({ key, target, defaultPrevented }: KeyboardEvent) => {
      if (key === "Escape" && !defaultPrevented && !closesSomething(target)) onEscape();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [isRunning]);
  useEffect(() => {
    if (!isLeaving) return undefined;
    const timer = setTimeout(() => setIsLeaving(false), 600);
    return () => clearTimeout(timer);
  }, [isLeaving]);
  return { leaveOrStop, isLeaving };
}

/** Whether Esc closes a dialog or a menu, or leaves another field. */
function closesSomething(target: EventTarget | null): boolean {
  if (target instanceof Element && target.matches("input, textarea, select")) return true;
  return document.querySelector("dialog[open], [role=menu]") !== null;
}

/** Files that are dropped anywhere on the page. Returns whether some are held above it. */
export function useDrop(onFiles: (files: readonly File[]) => void): boolean {
  const [isOver, setIsOver] = useState(false);
  const drop = useEffectEvent(onFiles);
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent) =>
      dataTransfer?.types.includes("Files") === true && !document.querySelector("dialog[open]");
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setIsOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setIsOver(false);
    };
    const onDrop = (event: DragEvent) => {
      setIsOver(false);
      if (!hasFiles(event)) return;
      // Otherwise the browser would open the file instead of the page.
      event.preventDefault();
      drop([...event.dataTransfer!.files]);
    };
    window.addEventListener("dragover", over);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", onDrop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", onDrop);
    };
  }, []);
  return isOver;
}
