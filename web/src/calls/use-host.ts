// One host by its id. The list of hosts is read anyway, but only its first page: a host behind it is read on its own.
import type { Instance } from "@hawser/client";
import { useRead } from "./use-call.ts";

/** Undefined while it is read, and if it cannot be read. */
export function useHost(instanceId: string): Instance | undefined {
  const { data } = useRead("search_instances", {});
  const listed = data?.instances.find((each) => each.instanceId === instanceId);
  const isElsewhere = data !== undefined && !listed && instanceId !== "";
  const alone = useRead("get_instance", { instanceId }, { enabled: isElsewhere });
  return listed ?? alone.data;
}
