// How far a pairing is: no machine has used the command, one has and is not connected, or the host is online.
import type { Instance } from "@hawser/client";
import type { Result } from "../../calls/call.ts";
import type { RopeState } from "../../design/rope.tsx";

export type Order = Pick<Result<"create_instance">, "installCommand" | "pairingTokenExpiresAt">;

/** How long a command works. */
const lifeMs = 15 * 60_000;

/** A host that was paired before the command was made, and may still be connected, has not used it. */
export function stageOf(
  host: (Pick<Instance, "status"> & { pairedAt: string | null }) | undefined,
  order: Order,
): RopeState {
  if (!host || host.pairedAt === null) return "waiting";
  // Both times are those of the service's database.
  const madeAt = Date.parse(order.pairingTokenExpiresAt) - lifeMs;
  if (Date.parse(host.pairedAt) < madeAt) return "waiting";
  return host.status === "online" ? "online" : "paired";
}
