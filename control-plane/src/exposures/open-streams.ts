// The requests and WebSockets that are open at this node: how many an exposure may have, and how they are cut. A request
// beyond the limit waits a while for a place, because a browser opens many at once.
import type { OpenExposure } from "./open-exposure.ts";

export interface StreamLimits {
  /** Requests and WebSockets of an exposure. */
  streams: number;
  webSockets: number;
  /** Requests of an exposure that wait for a place. */
  waiting: number;
  waitMs: number;
  /** Requests and WebSockets of an organization, and of all, at this node. */
  ofOrganization: number;
  ofNode: number;
  /** Bytes of an exposure in an hour, in both directions. */
  bytesPerHour: number;
}

export const streamLimits: StreamLimits = {
  streams: 100,
  webSockets: 20,
  waiting: 1_000,
  waitMs: 10_000,
  ofOrganization: 1_000,
  ofNode: 4_000,
  bytesPerHour: 50 * 1024 ** 3,
};

/** The exposure has ended, or has moved as many bytes as it may. */
export type WhyCut = "ended" | "bytes";

/** A place for one request or WebSocket. */
export interface Place {
  /** Called when the stream is cut; at once if it was cut already. */
  onCut(end: (why: WhyCut) => void): void;
  /** Counts bytes that passed. The exposure's streams are cut if it has used up its bytes. */
  count(bytes: number): void;
  leave(): void;
}

export interface OpenStreams {
  /** Resolves to the reason, as a sentence, if there is no place. */
  enter(exposure: OpenExposure, kind: "request" | "webSocket"): Promise<Place | string>;
  /** Ends every stream of an exposure that has ended, and refuses those that wait. */
  cut(exposureId: string): void;
  /** Exposures with open streams, and when they expire. */
  open(): Map<string, number>;
  size(): number;
}

interface OfExposure {
  organizationId: string;
  expiresAt: number;
  places: Set<(why: WhyCut) => void>;
  webSockets: number;
  /** Called when a place is free, or with false if there will be none. */
  waiting: Set<(isFree: boolean) => void>;
  /** Requests that waited, and enter in a moment. */
  entering: number;
}

const hourMs = 3_600_000;

export function createOpenStreams(
  limits: StreamLimits,
  now: () => number = performance.now.bind(performance),
): OpenStreams {
  const exposures = new Map<string, OfExposure>();
  const bytes = new Map<string, { since: number; used: number }>();
  let size = 0;

  function recordOf({ exposureId, organizationId, expiresAt }: OpenExposure): OfExposure {
    let record = exposures.get(exposureId);
    if (!record) {
      record = {
        organizationId,
        expiresAt,
        places: new Set(),
        webSockets: 0,
        waiting: new Set(),
        entering: 0,
      };
      exposures.set(exposureId, record);
    }
    return record;
  }

  function bytesOf(exposureId: string): { since: number; used: number } {
    let hour = bytes.get(exposureId);
    if (!hour || now() - hour.since >= hourMs) {
      hour = { since: now(), used: 0 };
      for (const [id, { since }] of bytes) if (now() - since >= hourMs) bytes.delete(id);
      bytes.set(exposureId, hour);
    }
    return hour;
  }

  function sizeOf(organizationId: string): number {
    const own = [...exposures.values()].filter((each) => each.organizationId === organizationId);
    return own.reduce((all, { places }) => all + places.size, 0);
  }

  function forgetIfEmpty(exposureId: string): void {
    const record = exposures.get(exposureId);
    if (!record || record.places.size > 0) return;
    if (record.waiting.size + record.entering === 0) exposures.delete(exposureId);
  }

  /** Resolves to false if no place becomes free in time. */
  function wait(record: OfExposure): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (isFree: boolean) => {
        clearTimeout(timer);
        record.waiting.delete(done);
        record.entering += isFree ? 1 : 0;
        resolve(isFree);
      };
      const timer = setTimeout(() => done(false), limits.waitMs);
      record.waiting.add(done);
    });
  }

  function cut(exposureId: string, why: WhyCut): void {
    const record = exposures.get(exposureId);
    // First, so that none of them enters in place of a stream that is cut.
    record?.waiting.forEach((done) => done(false));
    record?.places.forEach((end) => end(why));
  }

  return {
    async enter(exposure, kind) {
      const { exposureId } = exposure;
      if (bytesOf(exposureId).used >= limits.bytesPerHour) {
        return "This exposure has moved as many bytes as it may in an hour. Try again later.";
      }
      if (size >= limits.ofNode) {
        return "Too many connections to exposures are open here. Try again in a moment.";
      }
      if (sizeOf(exposure.organizationId) >= limits.ofOrganization) {
        return `Exposures of this organization have ${limits.ofOrganization} connections open here, which is the limit. Close some first.`;
      }
      const record = recordOf(exposure);
      if (kind === "webSocket" && record.webSockets >= limits.webSockets) {
        forgetIfEmpty(exposureId);
        return `This exposure has ${limits.webSockets} WebSockets open, which is the limit. Close one first.`;
      }
      const tooMany = `This exposure has ${limits.streams} connections open, which is the limit. Close one first.`;
      while (record.places.size >= limits.streams) {
        if (record.waiting.size >= limits.waiting) return tooMany;
        if (!(await wait(record))) {
          forgetIfEmpty(exposureId);
          return tooMany;
        }
        record.entering -= 1;
      }
      let cutBy: WhyCut | undefined;
      let hasLeft = false;
      let end: (why: WhyCut) => void = () => {};
      const endPlace = (why: WhyCut) => {
        cutBy = why;
        end(why);
      };
      record.places.add(endPlace);
      record.webSockets += kind === "webSocket" ? 1 : 0;
      size += 1;
      return {
        onCut(callback) {
          end = callback;
          if (cutBy) callback(cutBy);
        },
        count(amount) {
          const hour = bytesOf(exposureId);
          hour.used += amount;
          if (hour.used >= limits.bytesPerHour) cut(exposureId, "bytes");
        },
        leave() {
          if (hasLeft) return;
          hasLeft = true;
          record.places.delete(endPlace);
          record.webSockets -= kind === "webSocket" ? 1 : 0;
          size -= 1;
          const [next] = record.waiting;
          next?.(true);
          forgetIfEmpty(exposureId);
        },
      };
    },
    cut: (exposureId) => cut(exposureId, "ended"),
    open: () => new Map([...exposures].map(([id, { expiresAt }]) => [id, expiresAt])),
    size: () => size,
  };
}
