// The nodes that live, and a balancer before them: a host dials through a proxy that leads to any of
// them, as it would in front of a real installation.
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import type { World } from "@hawser/testkit/world.ts";

/** The nodes that were not killed. */
export function livingNodes(world: World): ControlPlaneNode[] {
  return world.nodes.filter(
    ({ process }) => process.signalCode === null && process.exitCode === null,
  );
}

/** Another living node with each look. */
export function balancerOf(world: World): { readonly port: number } {
  let turn = 0;
  return {
    get port() {
      const living = livingNodes(world);
      // Port 9 refuses, as a balancer without nodes does.
      return Number(living[turn++ % living.length]?.baseUrl.split(":").at(-1) ?? 9);
    },
  };
}
