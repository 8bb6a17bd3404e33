// The mark of the product: the rope between two posts.
import type { ReactNode } from "react";

export function Logo({ size }: { size: number }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="2.2"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M4 2.500v15M16 2.500v15" />
      <path d="M4 8.500c2.5 4.5 9.5 4.5 12 0" stroke="var(--marine)" />
    </svg>
  );
}
