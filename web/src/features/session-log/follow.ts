// Whether the transcript follows its end. It follows only a person who has scrolled there; any movement upwards ends it,
// also within the distance that counts as the end.

export const endDistance = 64;

export interface FollowState {
  isFollowing: boolean;
  /** Which way the person moved most recently. */
  way: "up" | "down" | undefined;
}

export type FollowEvent =
  /** A wheel, a finger, a key or a selection that leads up. */
  | { is: "up" }
  | { is: "down" }
  /** The list has scrolled, and is this far from its end. */
  | { is: "scrolled"; distance: number; by: number }
  /** The person asked for the end: the pill, or the key End. */
  | { is: "end" };

export function nextFollow(state: FollowState, event: FollowEvent): FollowState {
  switch (event.is) {
    case "up":
      return { isFollowing: false, way: "up" };
    case "down":
      return { ...state, way: "down" };
    case "end":
      return { isFollowing: true, way: "down" };
    default:
      // What grows or is loaded scrolls too, and then nobody has asked for the end.
      if (state.way !== "down" || event.by <= 0 || event.distance > endDistance) return state;
      return { ...state, isFollowing: true };
  }
}
