// Asks an edge whether it is alive. Every edge answers on a subject of its own while it keeps links, so
// "no responders" means that the edge has died or is stopping, whichever nodes died with it.
//
// Guarantee: an answer was given after the question was put. So if a host's connection ended before the
// question and the edge answers, the edge did not cause that end by dying.
import { edgeAliveSubject } from "@hawser/host-protocol";
import { FabricDown, FabricTimeout, NoResponders, type Fabric } from "./connection.ts";

/** Whether the edge answers. */
export type EdgeAsker = (edgeId: string) => Promise<boolean>;

/**
 * The first question to a dead edge can reach its socket before the NATS server notices that the socket
 * is closed. The second is then answered with "no responders".
 */
const timeoutsMs = [300, 1_000];

export function createEdgeAsker(fabric: Pick<Fabric, "request">): EdgeAsker {
  /** Questions that are put in the next turn of the event loop. Connections that end together share one. */
  const unsent = new Map<string, Promise<boolean>>();

  async function ask(edgeId: string): Promise<boolean> {
    for (const timeoutMs of timeoutsMs) {
      try {
        await fabric.request(edgeAliveSubject(edgeId), "", { timeoutMs });
        return true;
      } catch (error) {
        if (error instanceof NoResponders || error instanceof FabricDown) return false;
        if (!(error instanceof FabricTimeout)) throw error;
      }
    }
    return false;
  }

  return (edgeId) => {
    let question = unsent.get(edgeId);
    if (!question) {
      const nextTurn = new Promise<void>((resolve) => setImmediate(resolve));
      question = nextTurn.then(() => {
        unsent.delete(edgeId);
        return ask(edgeId);
      });
      unsent.set(edgeId, question);
    }
    return question;
  };
}
