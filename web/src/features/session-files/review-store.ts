// What a person has written about the changes of a session, and which files the person has seen. It stays on the device,
// per person and session, until it is sent.
import { createKept, type Kept } from "../../device/kept.ts";
import type { Anchor } from "./anchors.ts";

export interface Comment extends Anchor {
  id: string;
  text: string;
  /** A draft is one that was left; only added ones are sent. */
  state: "writing" | "draft" | "added";
}

export interface Review {
  comments: readonly Comment[];
  /** The first sentence of the prompt. */
  opening: string;
  /** The mark that the patch of each seen file had. */
  viewed: Readonly<Record<string, string>>;
}

export interface ReviewStore {
  get: () => Review;
  subscribe: (onChange: () => void) => () => void;
  load: () => Promise<void>;
  /** Opens a field below these lines. Returns the id of its comment. */
  begin: (anchor: Anchor) => string;
  /** Keeps what is typed. Nothing is drawn again: the field shows it already. */
  write: (id: string, text: string) => void;
  edit: (id: string) => void;
  /** No-op without a text. */
  add: (id: string) => void;
  /** Leaves it as a draft; without a text it is removed. */
  leave: (id: string) => void;
  remove: (id: string) => void;
  /** Its lines were found elsewhere in the file. */
  move: (id: string, first: number) => void;
  writeOpening: (text: string) => void;
  /** Undefined: not seen. */
  setViewed: (path: string, mark: string | undefined) => void;
  /** Removes the comments that were added, and the first sentence, because they are sent or discarded. */
  take: () => void;
}

const blank: Review = { comments: [], opening: "", viewed: {} };

function createReview(key: string, kept: Kept<Review>): ReviewStore {
  const listeners = new Set<() => void>();
  let review = blank;
  let loading: Promise<void> | undefined;
  const keep = (next: Review) => {
    review = next;
    const isBlank =
      next.comments.length === 0 && next.opening === "" && Object.keys(next.viewed).length === 0;
    kept.set(key, isBlank ? undefined : next);
  };
  const set = (next: Partial<Review>) => {
    keep({ ...review, ...next });
    for (const listener of listeners) listener();
  };
  const changed = (id: string, to: Partial<Comment>) =>
    review.comments.map((each) => (each.id === id ? { ...each, ...to } : each));
  const without = (id: string) => review.comments.filter((each) => each.id !== id);
  const textOf = (id: string) => review.comments.find((each) => each.id === id)?.text ?? "";
  const read = async () => {
    const found = await kept.get(key);
    if (!found) return;
    const comments = found.comments.map((each): Comment =>
      each.state === "writing" ? { ...each, state: "draft" } : each,
    );
    // What was written meanwhile is newer.
    set({
      comments: [...comments, ...review.comments],
      opening: review.opening === "" ? found.opening : review.opening,
      viewed: { ...found.viewed, ...review.viewed },
    });
  };
  return {
    get: () => review,
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    load() {
      loading ??= read();
      return loading;
    },
    begin(anchor) {
      const { path, side, first, last } = anchor;
      const same = review.comments.find(
        (each) =>
          each.state !== "added" &&
          each.path === path &&
          each.side === side &&
          each.first === first &&
          each.last === last,
      );
      if (same) {
        set({ comments: changed(same.id, { state: "writing" }) });
        return same.id;
      }
      const id = crypto.randomUUID();
      set({ comments: [...review.comments, { ...anchor, id, text: "", state: "writing" }] });
      return id;
    },
    write: (id, text) => keep({ ...review, comments: changed(id, { text }) }),
    edit: (id) => set({ comments: changed(id, { state: "writing" }) }),
    add(id) {
      if (textOf(id).trim() !== "") set({ comments: changed(id, { state: "added" }) });
    },
    leave(id) {
      const isEmpty = textOf(id).trim() === "";
      set({ comments: isEmpty ? without(id) : changed(id, { state: "draft" }) });
    },
    remove: (id) => set({ comments: without(id) }),
    move(id, first) {
      const comment = review.comments.find((each) => each.id === id);
      if (!comment || comment.first === first) return;
      const last = first + comment.last - comment.first;
      set({ comments: changed(id, { first, last }) });
    },
    writeOpening: (opening) => keep({ ...review, opening }),
    setViewed(path, mark) {
      const others = Object.entries(review.viewed).filter(([each]) => each !== path);
      set({
        viewed: Object.fromEntries(mark === undefined ? others : [...others, [path, mark]]),
      });
    },
    take: () =>
      set({ comments: review.comments.filter(({ state }) => state !== "added"), opening: "" }),
  };
}

const device = createKept<Review>({ database: "hawser-reviews", store: "reviews" });
const stores = new Map<string, ReviewStore>();

export function reviewOf(userId: string, sessionId: string): ReviewStore {
  const key = `${userId} ${sessionId}`;
  const known = stores.get(key);
  if (known) return known;
  const store = createReview(key, device);
  stores.set(key, store);
  return store;
}

/** Forgets the comments of everyone on this device, when the person signs out. */
export function forgetReviews(): Promise<void> {
  stores.clear();
  return device.clear();
}
