// The faults that the host link has to survive, by the ids of the threat model.
import type { Fault } from "./fault.ts";
import { deliveredAgain, hostCut, nodeWithoutNats } from "./network-faults.ts";
import { daemonKilled, natsKilled, nodeKilled, postgresFails } from "./process-faults.ts";
import { switchOver } from "./switch-over.ts";

export const linkFaults: readonly Fault[] = [
  nodeKilled,
  daemonKilled,
  natsKilled,
  postgresFails,
  hostCut,
  nodeWithoutNats,
  deliveredAgain,
  switchOver,
];
