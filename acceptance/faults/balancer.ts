// The running nodes, and a balancer in front of them: a host connects through a proxy to any of them, as in
// a real installation.
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import type { World } from "@hawser/testkit/world.ts";

/** The nodes that were not killed. */
export function livingNodes(world: World): ControlPlaneNode[] {
  return world.nodes.filter(
    ({ process }) => process.signalCode === null && process.exitCode === null,
  );
}

/** The next running node with each call. */
export function balancerOf(world: World): { readonly port: number } {
  let turn = 0;
  return {
    get port() {
      const living = livingNodes(world);
      // Port 9 refuses connections, like a balancer without nodes.
      return Number(living[turn++ % living.length]?.baseUrl.split(":").at(-1) ?? 9);
    },
  };
}
