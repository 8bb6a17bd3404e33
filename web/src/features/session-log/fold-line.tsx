// A line that opens: the same for all folds, thoughts, lanes and notes.
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";

interface FoldLineProps {
  isOpen: boolean;
  onToggle: () => void;
  className?: string;
  time?: string | undefined;
  children: ReactNode;
}

export function FoldLine({
  isOpen,
  onToggle,
  className = "",
  time,
  children,
}: FoldLineProps): ReactNode {
  return (
    <button
      type="button"
      className={`fold-line ${className}`}
      aria-expanded={isOpen}
      onClick={onToggle}
    >
      <ChevronRight className="chevron" aria-hidden />
      {children}
      {time !== undefined && <span className="time">{time}</span>}
    </button>
  );
}
