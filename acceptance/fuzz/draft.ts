// A case while it is being made: a valid body, to which one mutation is applied.
import type { KnownIds, Spot } from "./base-body.ts";
import { spotsOf } from "./base-body.ts";
import type { Fields, Node } from "./json-text.ts";
import type { Random } from "./random.ts";
import type { ActionShape, Shape } from "./shape.ts";

export interface Draft {
  action: ActionShape;
  random: Random;
  known: KnownIds;
  body: Fields;
  /** Sent in place of the body. */
  instead?: Node;
  /** Changes the written body. */
  rewrite?: (text: string) => string | Buffer;
  contentType: string | undefined;
  contentEncoding?: string;
  /** Sends no body at all. */
  bodiless?: true;
  /** Sends the body in pieces, without a Content-Length. */
  chunked?: true;
  /** Stops in the middle of the body and hangs up. */
  unfinished?: "chunked" | "announced";
}

/** Changes a draft. Returns false if it has no place for the change. */
export type Mutation = (draft: Draft) => boolean;

/** A random place of the body that fits. */
export function pickSpot(
  { action, body, random }: Draft,
  fits: (shape: Shape, spot: Spot) => boolean = () => true,
): Spot | undefined {
  const spots = spotsOf(action.body, body).filter((spot) => fits(spot.shape, spot));
  return spots.length > 0 ? random.pick(spots) : undefined;
}

/** Puts the result of `make` into a fitting place. Returns false if there is no place or no result. */
export function replace(
  draft: Draft,
  fits: (shape: Shape, spot: Spot) => boolean,
  make: (spot: Spot) => Node | undefined,
): boolean {
  const spot = pickSpot(draft, fits);
  const value = spot && make(spot);
  if (value === undefined) return false;
  spot!.set(value);
  return true;
}
