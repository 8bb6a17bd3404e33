// A fault: how its bed is made, how it is injected once, and how it is undone.
import type { Random } from "../fuzz/random.ts";
import type { Bed } from "./bed.ts";
import type { History } from "./history.ts";

export interface FaultContext {
  bed: Bed;
  random: Random;
  /** Violations that only this fault can find. */
  broken: string[];
}

export interface Injector {
  /** Injects the fault once, and undoes it unless `heal` does. `progress` is from 0 to 1. */
  inject(progress: number): Promise<string>;
  /** Ends all faults. The product works again when this resolves. */
  heal(): Promise<void>;
  /** Called after the run, while the hosts still run: their answers to commands that were sent again. */
  replies?(): Promise<History["replies"]>;
}

export interface Fault {
  id: string;
  title: string;
  nats?: 3;
  proxiedNode?: true;
  standby?: true;
  open(context: FaultContext): Promise<Injector>;
}

export const between = (random: Random, least: number, most: number) =>
  least + random.below(most - least);
