// Prompts of this page on their way into a session: pending until the log has them, and never lost. One list for each
// session and person.
import { Refused } from "../../calls/refused.ts";
import type { Drafts, Extras, SendingPrompt } from "../drafts/index.ts";
import { sendPrompt } from "./send-prompt.ts";

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
  /** What belongs to the draft beside its text; empty until it is loaded. */
  extras: () => Extras;
  setDraft: (text: string, extras?: Extras) => void;
  send: (text: string, more?: Omit<SendingPrompt, "text" | "idempotencyKey">) => void;
  /** Sends another text; what is in the composer stays. Returns its key. */
  sendBeside: (text: string) => Promise<string>;
  again: (idempotencyKey: string) => void;
  /** Removes and returns a prompt that was not sent. */
  takeBack: (idempotencyKey: string) => SendingPrompt | undefined;
  /** From now on the composer is asked to take back what the service refuses. Returns how to stop. */
  onRefused: (take: TakeRefused) => () => void;
  /** Drops what the log has. */
  seen: (hasPrompt: (messageId: string) => boolean) => void;
}

/** Returns false if it cannot take the prompt: then it stays where it is, with its text. */
type TakeRefused = (prompt: SendingPrompt, refused: Refused) => boolean;

type Send = (prompt: SendingPrompt) => Promise<{ messageId: string }>;

export function createPrompts(key: string, drafts: Drafts, send: Send): Prompts {
  const listeners = new Set<() => void>();
  let pending: readonly PendingPrompt[] = [];
  let draft = "";
  let extras: Extras = {};
  let takeRefused: TakeRefused | undefined;
  /** Prompts that are not the composer's, and that it does not take back. */
  const beside = new Set<string>();
  let loading: Promise<string> | undefined;
  const store = () => {
    const sending = pending.map(withoutState);
    drafts.set(key, { text: draft, sending, ...extras });
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
  const deliver = async (prompt: SendingPrompt) => {
    const { idempotencyKey } = prompt;
    change(idempotencyKey, { state: "sending", error: undefined });
    try {
      const { messageId } = await send(prompt);
      change(idempotencyKey, { state: "sent", messageId });
    } catch (error) {
      const isTaken =
        error instanceof Refused && !beside.has(idempotencyKey) && takeRefused?.(prompt, error);
      if (isTaken) {
        set(pending.filter((each) => each.idempotencyKey !== idempotencyKey));
      } else change(idempotencyKey, { state: "failed", error });
    }
  };
  const prompts: Prompts = {
    get: () => pending,
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    load() {
      loading ??= drafts.get(key).then((kept) => {
        draft = kept.text;
        const { files, choices } = kept;
        extras = { ...(files && { files }), ...(choices && { choices }) };
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
    extras: () => extras,
    setDraft(text, more = {}) {
      draft = text;
      extras = more;
      store();
    },
    send(text, more = {}) {
      const prompt = { ...more, text, idempotencyKey: crypto.randomUUID() };
      draft = "";
      extras = {};
      set([...pending, { ...prompt, state: "sending", messageId: undefined, error: undefined }]);
      void deliver(prompt);
    },
    async sendBeside(text) {
      // Storing before the draft is read would lose it.
      await prompts.load();
      const prompt = { text, idempotencyKey: crypto.randomUUID() };
      beside.add(prompt.idempotencyKey);
      set([...pending, { ...prompt, state: "sending", messageId: undefined, error: undefined }]);
      void deliver(prompt);
      return prompt.idempotencyKey;
    },
    again(idempotencyKey) {
      const found = pending.find((each) => each.idempotencyKey === idempotencyKey);
      if (found?.state === "failed") void deliver(found);
    },
    takeBack(idempotencyKey) {
      const found = pending.find((each) => each.idempotencyKey === idempotencyKey);
      if (found?.state !== "failed") return undefined;
      set(pending.filter((each) => each !== found));
      return found;
    },
    onRefused(take) {
      takeRefused = take;
      return () => {
        if (takeRefused === take) takeRefused = undefined;
      };
    },
    seen(hasPrompt) {
      const left = pending.filter(
        ({ messageId }) => messageId === undefined || !hasPrompt(messageId),
      );
      if (left.length < pending.length) set(left);
    },
  };
  return prompts;
}

function withoutState({ idempotencyKey, text, command, files, choices }: PendingPrompt) {
  return {
    idempotencyKey,
    text,
    ...(command !== undefined && { command }),
    ...(files && { files }),
    ...(choices && { choices }),
  };
}

const lists = new Map<string, Prompts>();

/** The prompts of a person to a session. */
export function promptsOf(userId: string, sessionId: string, drafts: Drafts): Prompts {
  const key = `${userId} ${sessionId}`;
  const known = lists.get(key);
  if (known) return known;
  const prompts = createPrompts(key, drafts, (prompt) => sendPrompt(sessionId, prompt));
  lists.set(key, prompts);
  return prompts;
}

/** Forgets the prompts and drafts of everyone on this device, when the person signs out. */
export function forgetPrompts(drafts: Drafts): Promise<void> {
  lists.clear();
  return drafts.clear();
}
