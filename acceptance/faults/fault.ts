// What a fault is to the harness: how its bed is made, how it is injected once, and how all of it is
// undone.
import type { Random } from "../fuzz/random.ts";
import type { Bed } from "./bed.ts";
import type { History } from "./history.ts";

export interface FaultContext {
  bed: Bed;
  random: Random;
  /** Promises of this fault alone that were not kept. */
  broken: string[];
}

export interface Injector {
  /** Injects it once and takes it back, or leaves that to `heal`. `progress` goes from 0 to 1. */
  inject(progress: number): Promise<string>;
  /** Everything is well again when it resolves. */
  heal(): Promise<void>;
  /** After quiet, while the hosts still live: what hosts answered to what they were told again. */
  replies?(): Promise<History["replies"]>;
}

export interface Fault {
  id: string;
  title: string;
  nats?: 3;
  proxiedNode?: true;
  open(context: FaultContext): Promise<Injector>;
}

export const between = (random: Random, least: number, most: number) =>
  least + random.below(most - least);
