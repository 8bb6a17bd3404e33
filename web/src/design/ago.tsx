// A time, relative under a day, exact on hover. It grows older by itself.
import { useEffect, useState, type ReactNode } from "react";
import { age, ago, exactly } from "../words/times.ts";

/** The present time, renewed every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function Ago({ at }: { at: string }): ReactNode {
  const now = useNow(1_000);
  return (
    <time dateTime={at} title={exactly(at)}>
      {ago(at, now)}
    </time>
  );
}

/** In as few letters as a list has room for. */
export function Age({ at }: { at: string }): ReactNode {
  const now = useNow(15_000);
  return (
    <time dateTime={at} title={exactly(at)}>
      {age(at, now)}
    </time>
  );
}
