// What this device keeps of the composer: texts that are written, and texts that were sent and are not in a log yet.
// Keyed by person and session; removed when the person signs out.

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

const storeName = "drafts";
const databaseName = "hawser";
const storedAfterMs = 300;

export function createDrafts(factory: IDBFactory | undefined): Drafts {
  const memory = new Map<string, Draft>();
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const listeners = new Set<() => void>();
  let written: ReadonlySet<string> = new Set();
  let looking: Promise<void> | undefined;
  let opening: Promise<IDBDatabase> | undefined;
  const open = () => (opening ??= openDatabase(factory!));
  const store = async (key: string) => {
    timers.delete(key);
    const draft = memory.get(key) ?? emptyDraft;
    const isEmpty =
      draft.text === "" && draft.sending.length === 0 && !draft.files && !draft.choices;
    const database = await open();
    if (isEmpty) await done(writable(database).delete(key));
    else await done(writable(database).put(draft, key));
  };
  /** A browser in private mode may refuse; then the draft lives as long as the page. */
  const kept = async (key: string): Promise<Draft | undefined> => {
    try {
      const database = await open();
      return await done(readable(database).get(key) as IDBRequest<Draft | undefined>);
    } catch {
      return undefined;
    }
  };
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
    const drafts = readable(await open());
    const [keys, all] = await Promise.all([
      done(drafts.getAllKeys()),
      done(drafts.getAll() as IDBRequest<Draft[]>),
    ]);
    for (const [at, { text }] of all.entries()) {
      const key = keys[at] as string;
      // What this page has is newer.
      if (!memory.has(key)) note(key, text !== "");
    }
  };
  return {
    written: () => written,
    subscribe(onChange) {
      listeners.add(onChange);
      if (factory) looking ??= lookForKept().catch(() => {});
      return () => listeners.delete(onChange);
    },
    async get(key) {
      const known = memory.get(key);
      if (known || !factory) return known ?? emptyDraft;
      const draft = memory.get(key) ?? (await kept(key)) ?? emptyDraft;
      memory.set(key, draft);
      return draft;
    },
    set(key, draft) {
      memory.set(key, draft);
      note(key, draft.text !== "");
      if (!factory) return;
      clearTimeout(timers.get(key));
      timers.set(
        key,
        setTimeout(() => void store(key).catch(() => {}), storedAfterMs),
      );
    },
    async clear() {
      memory.clear();
      setWritten(new Set());
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      if (factory) await done(writable(await open()).clear());
    },
  };
}

function openDatabase(factory: IDBFactory): Promise<IDBDatabase> {
  const request = factory.open(databaseName, 1);
  request.addEventListener("upgradeneeded", () => request.result.createObjectStore(storeName));
  return done(request);
}

const readable = (database: IDBDatabase) =>
  database.transaction(storeName, "readonly").objectStore(storeName);
const writable = (database: IDBDatabase) =>
  database.transaction(storeName, "readwrite").objectStore(storeName);

function done<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () =>
      reject(request.error ?? new Error("The device refused.")),
    );
  });
}

export const drafts = createDrafts(globalThis.indexedDB);
