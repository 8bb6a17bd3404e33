// Limits how many bodies of deliveries arrive at the same time, for one trigger and in total. A new body is never
// refused for lack of a place: it takes the place of the body that has been arriving for the longest time. So
// strangers who send bodies slowly, and cannot sign them, keep no other sender waiting.
import { Refusal } from "@hawser/contract";

export interface Place extends Disposable {
  /** Aborted, with a refusal as its reason, when another body takes the place. */
  signal: AbortSignal;
}

export interface PlaceLimits {
  most: number;
  mostOfTrigger: number;
}

export function createPlaces({ most, mostOfTrigger }: PlaceLimits) {
  /** By trigger; those of a trigger in the order of their arrival. */
  const taken = new Map<string, Set<AbortController>>();
  let all = 0;

  function leave(triggerId: string, place: AbortController): void {
    const own = taken.get(triggerId);
    if (!own?.delete(place)) return;
    all--;
    if (own.size === 0) taken.delete(triggerId);
  }

  function displaceOldest(triggerId: string): void {
    const [oldest] = taken.get(triggerId)!;
    leave(triggerId, oldest!);
    oldest!.abort(displaced());
  }

  /** The trigger with the most bodies: a trigger that gets few keeps its places. */
  const busiest = () =>
    [...taken].reduce((most, each) => (each[1].size > most[1].size ? each : most))[0];

  return {
    enter(triggerId: string): Place {
      if ((taken.get(triggerId)?.size ?? 0) >= mostOfTrigger) displaceOldest(triggerId);
      else if (all >= most) displaceOldest(busiest());
      const place = new AbortController();
      taken.set(triggerId, (taken.get(triggerId) ?? new Set()).add(place));
      all++;
      return { signal: place.signal, [Symbol.dispose]: () => leave(triggerId, place) };
    },
  };
}

const displaced = () =>
  new Refusal(
    "rate_limited",
    "The body took long to arrive, and newer deliveries needed its place. Send it again.",
    { retryAfterMs: 1_000 },
  );
