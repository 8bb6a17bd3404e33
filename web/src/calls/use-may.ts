// What the person may do in this organization. A part that they may not use is absent.
import { useRead } from "./use-call.ts";
import type { Result } from "./call.ts";

export type Permission = Result<"whoami">["permissions"][number];

/** False until it is known. */
export function useMay(permission: Permission): boolean {
  const { data } = useRead("whoami", {});
  return data?.permissions.includes(permission) ?? false;
}
