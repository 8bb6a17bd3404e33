// The person whose page this is. If somebody else signs in in another tab, the browser sends the other one's cookie from
// then on. So whatever a page sends names its person, and the service refuses it for anybody else (decision 0096).
import { organization } from "./organization.ts";

/** The refusal's code. */
export const otherPerson = "other_person";

let current: string | undefined;
let isOther = false;
const listeners = new Set<() => void>();

function setOther(next: boolean): void {
  if (isOther === next) return;
  isOther = next;
  for (const listener of listeners) listener();
}

export const pagePerson = {
  /** Empty until it is known. */
  header: (): Record<string, string> =>
    current === undefined ? {} : { "x-hawser-person": current },

  /** Call it when the service has said who is signed in. The first one is the person of the page. */
  noteSignedIn(userId: string): void {
    if (current === userId && !isOther) return;
    current ??= userId;
    setOther(current !== userId);
    tellTabs(userId);
  },

  /** Call it when the service has refused a request because somebody else is signed in. */
  noteOther: () => setOther(true),

  /** Whether somebody else is signed in, as far as is known here. */
  isOther: () => isOther,

  /** For `useSyncExternalStore`. */
  subscribe: (onChange: () => void) => {
    listeners.add(onChange);
    return () => listeners.delete(onChange);
  },

  /** The page belongs to nobody until somebody signs in. */
  forget(): void {
    current = undefined;
    setOther(false);
  },
};

/** The headers of what a page sends other than by `request`. */
export const pageHeaders = () => ({ ...organization.header(), ...pagePerson.header() });

const channelName = "hawser person";

function tellTabs(userId: string): void {
  const channel = new BroadcastChannel(channelName);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel stays within its origin
  channel.postMessage(userId);
  channel.close();
}

/** Notices who signs in in other tabs. Returns how to stop. */
export function followTabs(): () => void {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    if (current !== undefined) setOther(data !== current);
  });
  return () => channel.close();
}
