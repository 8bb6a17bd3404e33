// The window over which hosts spread their return when many links are lost at once: as long as the edges
// need to open the links of all hosts (decision 0044). Every node asks all edges for their load, and the
// answer to each hello contains the window.
import { everyEdgeSubject } from "@hawser/host-protocol";
import { FabricDown, FabricTimeout, NoResponders, type Fabric } from "./connection.ts";
import { EdgeLoad } from "./edge-identity.ts";

export interface ReconnectWindow {
  seconds: () => number;
  /** Asks every edge for its load. The window stays as it was if no edge with links answers. */
  refresh: () => Promise<void>;
}

/** The shortest window, and the window until an edge reports that it has links. */
const shortestSeconds = 3;
/** A daemon waits no longer than this either. */
const longestSeconds = 300;
/** Hosts return at random times, so at some moments more of them dial than on average. */
const plannedShare = 0.8;
const answerMs = 500;

export function createReconnectWindow(fabric: Pick<Fabric, "gather">): ReconnectWindow {
  let seconds = shortestSeconds;

  async function askEdges(): Promise<EdgeLoad[]> {
    try {
      const options = { most: Number.POSITIVE_INFINITY, timeoutMs: answerMs };
      return (await fabric.gather(everyEdgeSubject, "", options)).flatMap(readLoad);
    } catch (error) {
      const isSilence =
        error instanceof NoResponders ||
        error instanceof FabricTimeout ||
        error instanceof FabricDown;
      if (isSilence) return [];
      throw error;
    }
  }

  return {
    seconds: () => seconds,
    async refresh() {
      seconds = windowFor(await askEdges()) ?? seconds;
    },
  };
}

/** An edge without links, such as a node beside separate edges, is dialled by no host and does not count. */
export function windowFor(loads: readonly EdgeLoad[]): number | undefined {
  const used = loads.filter(({ links }) => links > 0);
  if (used.length === 0) return undefined;
  const hosts = sum(used.map(({ links }) => links));
  const perSecond = sum(used.map((load) => load.perSecond)) * plannedShare;
  const seconds = Math.min(longestSeconds, Math.max(shortestSeconds, hosts / perSecond));
  return Math.round(seconds * 10) / 10;
}

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

function readLoad(answer: Uint8Array): EdgeLoad[] {
  try {
    return [EdgeLoad.parse(JSON.parse(Buffer.from(answer).toString()))];
  } catch {
    // A newer edge may answer otherwise, and must not stop the question to the others.
    return [];
  }
}
