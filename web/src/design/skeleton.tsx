// Lines in the place of what is being loaded; nothing for the first 200 ms.
import { useEffect, useState, type ReactNode } from "react";

const patienceMs = 200;

export function Skeleton({ lines }: { lines: number }): ReactNode {
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), patienceMs);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div aria-busy="true">
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className="sk" />
      ))}
    </div>
  );
}
