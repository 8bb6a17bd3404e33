import assert from "node:assert/strict";
import { test } from "node:test";
import { nextFollow, type FollowEvent, type FollowState } from "./follow.ts";

const after = (...events: FollowEvent[]) =>
  events.reduce<FollowState>(nextFollow, { isFollowing: true, way: undefined }).isFollowing;
const scrolled = (distance: number, by = 10) => ({ is: "scrolled", distance, by }) as const;

for (const [what, events, isFollowing] of [
  ["it follows from the start", [], true],
  ["text that grows does not end it", [scrolled(0), scrolled(40)], true],
  ["a movement upwards ends it, also inside the 64 px", [{ is: "up" }, scrolled(20, -20)], false],
  [
    "a list that scrolls by itself near the end does not begin it",
    [{ is: "up" }, scrolled(10)],
    false,
  ],
  ["a person who scrolls to the end begins it", [{ is: "up" }, { is: "down" }, scrolled(64)], true],
  ["65 px before the end is not the end", [{ is: "up" }, { is: "down" }, scrolled(65)], false],
  [
    "a movement down that does not scroll is none",
    [{ is: "up" }, { is: "down" }, scrolled(0, 0)],
    false,
  ],
  ["the pill begins it", [{ is: "up" }, { is: "end" }], true],
] as [string, FollowEvent[], boolean][]) {
  test(`4.1 Transcript: ${what}`, () => assert.equal(after(...events), isFollowing));
}
