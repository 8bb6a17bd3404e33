// Divides the connections for callers among organizations, so that statements of one organization that wait
// for a lock leave connections to the others (decision 0079).
//
// Guarantee: an organization gets one more connection only if more are free than it has. So one alone gets
// at most half of them, and the next one half of the rest.

export interface FairShare {
  /** Resolves with the function that gives the place back. Throws after `patienceMs`. */
  enter(organizationId: string): Promise<() => void>;
}

interface Waiting {
  organizationId: string;
  admit: () => void;
}

export function createFairShare(total: number, patienceMs: number): FairShare {
  const held = new Map<string, number>();
  const queue = new Set<Waiting>();
  let free = total;

  const heldBy = (organizationId: string) => held.get(organizationId) ?? 0;
  const mayEnter = (organizationId: string) => heldBy(organizationId) < free;

  function take(organizationId: string): () => void {
    free -= 1;
    held.set(organizationId, heldBy(organizationId) + 1);
    return () => {
      free += 1;
      const left = heldBy(organizationId) - 1;
      if (left > 0) held.set(organizationId, left);
      else held.delete(organizationId);
      for (const waiting of queue) {
        if (free === 0) return;
        if (mayEnter(waiting.organizationId)) waiting.admit();
      }
    };
  }

  return {
    enter(organizationId) {
      if (mayEnter(organizationId)) return Promise.resolve(take(organizationId));
      return new Promise((resolve, reject) => {
        const waiting = {
          organizationId,
          admit() {
            queue.delete(waiting);
            clearTimeout(timer);
            resolve(take(organizationId));
          },
        };
        const timer = setTimeout(() => {
          queue.delete(waiting);
          reject(new Error("The organization's connections were in use for too long."));
        }, patienceMs);
        queue.add(waiting);
      });
    },
  };
}
