// Prompts of this page on their way into a session: pending until the log has them, and never lost. One list for each
// session and person.
import { call } from "../../calls/call.ts";
import type { Drafts, SendingPrompt } from "./on-device.ts";

export interface PendingPrompt extends SendingPrompt {
  state: "sending" | "sent" | "failed";
  /** Known once the host has accepted it. */
  messageId: string | undefined;
  error: unknown;
}

export interface Prompts {
  get: () => readonly PendingPrompt[];
  subscribe: (onChange: () => void) => () => void;
  /** Reads what was on its way when the page was closed. */
  load: () => Promise<string>;
  setDraft: (text: string) => void;
  send: (text: string) => void;
  again: (idempotencyKey: string) => void;
  /** Removes a prompt that was not sent; returns its text. */
  takeBack: (idempotencyKey: string) => string | undefined;
  /** Drops what the log has. */
  seen: (hasPrompt: (messageId: string) => boolean) => void;
}

type Send = (text: string, idempotencyKey: string) => Promise<{ messageId: string }>;

export function createPrompts(key: string, drafts: Drafts, send: Send): Prompts {
  const listeners = new Set<() => void>();
  let pending: readonly PendingPrompt[] = [];
  let draft = "";
  let loading: Promise<string> | undefined;
  const store = () => {
    const sending = pending.map(({ idempotencyKey, text }) => ({ idempotencyKey, text }));
    drafts.set(key, { text: draft, sending });
  };
  const set = (next: readonly PendingPrompt[]) => {
    pending = next;
    store();
    for (const listener of listeners) listener();
  };
  const change = (idempotencyKey: string, to: Partial<PendingPrompt>) =>
    set(
      pending.map((each) => (each.idempotencyKey === idempotencyKey ? { ...each, ...to } : each)),
    );
  const deliver = async ({ text, idempotencyKey }: SendingPrompt) => {
    change(idempotencyKey, { state: "sending", error: undefined });
    try {
      const { messageId } = await send(text, idempotencyKey);
      change(idempotencyKey, { state: "sent", messageId });
    } catch (error) {
      change(idempotencyKey, { state: "failed", error });
    }
  };
  return {
    get: () => pending,
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    load() {
      loading ??= drafts.get(key).then((kept) => {
        draft = kept.text;
        const left = kept.sending.filter(
          (each) => !pending.some(({ idempotencyKey }) => idempotencyKey === each.idempotencyKey),
        );
        // Whether the host has them is not known; their keys make it safe to ask.
        for (const each of left) {
          set([...pending, { ...each, state: "sending", messageId: undefined, error: undefined }]);
          void deliver(each);
        }
        return draft;
      });
      return loading.then(() => draft);
    },
    setDraft(text) {
      draft = text;
      store();
    },
    send(text) {
      const prompt = { text, idempotencyKey: crypto.randomUUID() };
      draft = "";
      set([...pending, { ...prompt, state: "sending", messageId: undefined, error: undefined }]);
      void deliver(prompt);
    },
    again(idempotencyKey) {
      const found = pending.find((each) => each.idempotencyKey === idempotencyKey);
      if (found?.state === "failed") void deliver(found);
    },
    takeBack(idempotencyKey) {
      const found = pending.find((each) => each.idempotencyKey === idempotencyKey);
      if (found?.state !== "failed") return undefined;
      set(pending.filter((each) => each !== found));
      return found.text;
    },
    seen(hasPrompt) {
      const left = pending.filter(
        ({ messageId }) => messageId === undefined || !hasPrompt(messageId),
      );
      if (left.length < pending.length) set(left);
    },
  };
}

const lists = new Map<string, Prompts>();

/** The prompts of a person to a session. */
export function promptsOf(userId: string, sessionId: string, drafts: Drafts): Prompts {
  const key = `${userId} ${sessionId}`;
  const known = lists.get(key);
  if (known) return known;
  const prompts = createPrompts(key, drafts, (text, idempotencyKey) =>
    call("send_prompt", { sessionId, text }, { idempotencyKey }),
  );
  lists.set(key, prompts);
  return prompts;
}

/** Forgets the prompts and drafts of everyone on this device, when the person signs out. */
export function forgetPrompts(drafts: Drafts): Promise<void> {
  lists.clear();
  return drafts.clear();
}
