// The sessions in which a person has written something that is not sent, on this device.
import { useMemo, useSyncExternalStore } from "react";
import { drafts } from "./on-device.ts";

export function useDrafts(userId: string | undefined): ReadonlySet<string> {
  const written = useSyncExternalStore(drafts.subscribe, drafts.written);
  return useMemo(() => {
    const mine = [...written].filter((key) => key.startsWith(`${userId} `));
    return new Set(mine.map((key) => key.slice(key.indexOf(" ") + 1)));
  }, [written, userId]);
}
