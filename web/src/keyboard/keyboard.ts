// Which act a pressed key belongs to. Single keys work only while nobody types, and not at all for people who have
// switched them off: speech input and a hand that slips press letters too (WCAG 2.1.4).
import { actIds, acts, type ActId } from "./acts.ts";

export interface Press {
  /** As browsers name it. */
  key: string;
  /** Command on a Mac, else Control. */
  hasMod: boolean;
  /** Alt, which is Option on a Mac. */
  hasAlt: boolean;
  /** Any other key that changes the meaning of this one; Shift is none. */
  hasOther: boolean;
  /** Being composed by an input method. */
  isComposing: boolean;
  isRepeat: boolean;
  /** A field, a menu or a dialog has the focus. */
  isInField: boolean;
  isInDialog: boolean;
}

/** Returns false to leave the key to others, at last to the browser. */
export type Run = (key: string) => boolean | void;

export interface Keyboard {
  /** Until the returned function is called. The newest of several is asked first. */
  add: (act: ActId, run: Run) => () => void;
  /** Whether somebody has taken the key. */
  press: (press: Press, now: number) => boolean;
  /** Runs an act as its key would. */
  run: (act: ActId) => void;
  /** Acts that do something now, in the order of the table. The same array until that changes. */
  active: () => readonly ActId[];
  subscribe: (onChange: () => void) => () => void;
}

/** The second key of "g i" comes within this time. */
const secondWithinMs = 1_500;

/** Whether a key of the table is one that people press while they write. */
const isSingle = (key: string): boolean =>
  !/^(?:mod|alt)\+/.test(key) && key !== "end" && key !== "enter";

/** The keys of an act that do something for a person who has, or has not, switched single keys off. */
export const workingKeys = (id: ActId, hasSingleKeys: boolean): readonly string[] =>
  acts[id].keys.filter((key) => hasSingleKeys || !isSingle(key));

export function createKeyboard(hasSingleKeys: () => boolean = () => true): Keyboard {
  let handlers: { act: ActId; run: Run }[] = [];
  let active: readonly ActId[] = [];
  const listeners = new Set<() => void>();
  let first: { key: string; at: number } | undefined;

  const changed = () => {
    active = actIds.filter((id) => handlers.some(({ act }) => act === id));
    for (const listener of listeners) listener();
  };
  const keysOf = (id: ActId) => workingKeys(id, hasSingleKeys());
  const offer = (key: string, { key: pressed, isRepeat }: Press) =>
    handlers.findLast(
      ({ act, run }) =>
        keysOf(act).some((each) => matches(each, key)) &&
        (!isRepeat || acts[act].repeats === true) &&
        run(pressed) !== false,
    ) !== undefined;

  return {
    add(act, run) {
      const handler = { act, run };
      handlers = [...handlers, handler];
      changed();
      return () => {
        handlers = handlers.filter((each) => each !== handler);
        changed();
      };
    },
    press(press, now) {
      const { hasMod, hasAlt, hasOther, isComposing, isInField, isInDialog } = press;
      if (isComposing || hasOther || (hasMod && hasAlt)) return false;
      const key = press.key.toLowerCase();
      if (hasMod) return !isInDialog && offer(`mod+${key}`, press);
      if (hasAlt) return !isInDialog && offer(`alt+${key}`, press);
      if (isInField || isInDialog) return false;
      const before = first;
      first = undefined;
      if (before && now - before.at <= secondWithinMs) {
        return offer(`${before.key} ${key}`, press);
      }
      if (active.some((id) => keysOf(id).some((each) => each.startsWith(`${key} `)))) {
        first = { key, at: now };
        return true;
      }
      return offer(key, press);
    },
    run(act) {
      handlers.findLast((each) => each.act === act)?.run("");
    },
    active: () => active,
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}

/** "1-9" stands for each digit from 1 to 9. */
function matches(key: string, pressed: string): boolean {
  if (key === pressed) return true;
  const range = /^(.*)([1-9])-([1-9])$/.exec(key);
  if (!range || pressed.length !== range[1]!.length + 1 || !pressed.startsWith(range[1]!))
    return false;
  const digit = pressed.at(-1)!;
  return digit >= range[2]! && digit <= range[3]!;
}
