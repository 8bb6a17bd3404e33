// Everything that a key does, and what the palette offers of it. The map of keys and the palette show the acts that a
// page has registered, so neither can name one that does nothing.

/** Groups of the map, in its order. */
export const areas = ["everywhere", "list", "session", "review", "request"] as const;
export type Area = (typeof areas)[number];

export interface Act {
  area: Area;
  /**
   * Each works alone. "mod" is Command on a Mac and else Control; "alt" is Option there; "g i" is one key after the other;
   * "1-9" are nine. None: the act is in the palette only.
   */
  keys: readonly string[];
  inPalette?: boolean;
  /** Goes on while the key is held down. */
  repeats?: boolean;
}

const table = {
  palette: { area: "everywhere", keys: ["mod+k"] },
  new_session: { area: "everywhere", keys: ["c"], inPalette: true },
  go_inbox: { area: "everywhere", keys: ["g i"], inPalette: true },
  go_sessions: { area: "everywhere", keys: ["g a"], inPalette: true },
  go_hosts: { area: "everywhere", keys: ["g h"], inPalette: true },
  unread: { area: "everywhere", keys: ["u"], inPalette: true },
  sidebar: { area: "everywhere", keys: ["["], inPalette: true },
  keys: { area: "everywhere", keys: ["?"], inPalette: true },
  next: { area: "list", keys: ["j"], repeats: true },
  former: { area: "list", keys: ["k"], repeats: true },
  open: { area: "list", keys: ["enter"] },
  compose: { area: "session", keys: ["/", "i"] },
  find: { area: "session", keys: ["mod+f"], inPalette: true },
  queue: { area: "session", keys: ["q"], inPalette: true },
  folds: { area: "session", keys: ["e"], inPalette: true },
  prompt: { area: "session", keys: ["t"], inPalette: true },
  follow: { area: "session", keys: ["end"], inPalette: true },
  review: { area: "session", keys: ["]"], inPalette: true },
  panel: { area: "session", keys: ["alt+1-4"] },
  mode: { area: "session", keys: ["m"], inPalette: true },
  stop: { area: "session", keys: ["mod+."], inPalette: true },
  push: { area: "session", keys: ["p"], inPalette: true },
  fork: { area: "session", keys: ["f"], inPalette: true },
  copy_address: { area: "session", keys: [], inPalette: true },
  end_session: { area: "session", keys: [], inPalette: true },
  // Where no request is in sight: its letters come first.
  next_comment: { area: "review", keys: ["n", "j"], repeats: true },
  former_comment: { area: "review", keys: ["k"], repeats: true },
  allow_once: { area: "request", keys: ["y"] },
  allow_always: { area: "request", keys: ["a"] },
  reject: { area: "request", keys: ["n"] },
  reject_with_note: { area: "request", keys: ["r"] },
  choose: { area: "request", keys: ["1-9"] },
} as const satisfies Record<string, Act>;

export type ActId = keyof typeof table;
export const acts: Record<ActId, Act> = table;
export const actIds = Object.keys(table) as ActId[];
