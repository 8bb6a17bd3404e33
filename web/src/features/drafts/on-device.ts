// What this device keeps of the composer: texts that are written, and texts that were sent and are not in a log yet.
// Keyed by person and session; removed when the person signs out.
import { createKept } from "../../device/kept.ts";

export interface Draft extends Extras {
  text: string;
  /** Sent, but not seen in the log yet. The key keeps it from being sent twice. */
  sending: SendingPrompt[];
}

export interface SendingPrompt extends Extras {
  idempotencyKey: string;
  text: string;
  /** The agent's slash command that `text` names; undefined for a prompt. */
  command?: string;
}

/** What belongs to a prompt beside its text. */
export interface Extras {
  files?: readonly SentFile[];
  choices?: Choices;
}

/** A file that is uploaded. */
export interface SentFile {
  fileId: string;
  filename: string;
  mime: string;
  size: number;
}

/** What a prompt names; what is undefined stays as it was in the session. */
export interface Choices {
  model?: { providerId: string; modelId: string };
  options?: Record<string, string>;
  /** The agent's mode or sub-agent, for this prompt only. */
  agent?: string;
}

const emptyDraft: Draft = { text: "", sending: [] };

export interface Drafts {
  get: (key: string) => Promise<Draft>;
  /** Kept in memory at once, and on the device a moment later. */
  set: (key: string, draft: Draft) => void;
  /** The keys under which something is written that is not sent. The same set until that changes. */
  written: () => ReadonlySet<string>;
  /** For `useSyncExternalStore`. Also looks for what an earlier page has left. */
  subscribe: (onChange: () => void) => () => void;
  /** For people who leave: nothing of theirs stays. */
  clear: () => Promise<void>;
}

export function createDrafts(factory: IDBFactory | undefined): Drafts {
  const kept = createKept<Draft>({ database: "hawser", store: "drafts" }, factory);
  const listeners = new Set<() => void>();
  let written: ReadonlySet<string> = new Set();
  let looking: Promise<void> | undefined;
  const setWritten = (next: ReadonlySet<string>) => {
    written = next;
    for (const listener of listeners) listener();
  };
  const note = (key: string, isWritten: boolean) => {
    if (written.has(key) === isWritten) return;
    const next = new Set(written);
    if (isWritten) next.add(key);
    else next.delete(key);
    setWritten(next);
  };
  const lookForKept = async () => {
    for (const [key, { text }] of await kept.all()) note(key, text !== "");
  };
  return {
    written: () => written,
    subscribe(onChange) {
      listeners.add(onChange);
      looking ??= lookForKept().catch(() => {});
      return () => listeners.delete(onChange);
    },
    get: async (key) => (await kept.get(key)) ?? emptyDraft,
    set(key, draft) {
      const isEmpty =
        draft.text === "" && draft.sending.length === 0 && !draft.files && !draft.choices;
      kept.set(key, isEmpty ? undefined : draft);
      note(key, draft.text !== "");
    },
    async clear() {
      setWritten(new Set());
      await kept.clear();
    },
  };
}

export const drafts = createDrafts(globalThis.indexedDB);
