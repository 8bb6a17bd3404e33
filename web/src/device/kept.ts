// What this device keeps of a person's writing: in memory at once, and in a database of the browser a moment later.
// Removed when the person signs out.

export interface Kept<Value> {
  get: (key: string) => Promise<Value | undefined>;
  /** Undefined removes it. */
  set: (key: string, value: Value | undefined) => void;
  /** Everything, by its key. What this page has is newer than what the device has. */
  all: () => Promise<Map<string, Value>>;
  /** For people who leave: nothing of theirs stays. */
  clear: () => Promise<void>;
}

const storedAfterMs = 300;
const storing: (() => Promise<unknown>)[] = [];

/** Stores now what would be stored a moment later, for a page that is about to go. Never rejects. */
export const storeNow = () => Promise.all(storing.map((each) => each()));

/** Without a database, as in some private windows, what is kept lives as long as the page. */
export function createKept<Value>(
  { database: databaseName, store: storeName }: { database: string; store: string },
  factory: IDBFactory | undefined = globalThis.indexedDB,
): Kept<Value> {
  const memory = new Map<string, Value | undefined>();
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  let opening: Promise<IDBDatabase> | undefined;
  const open = () => (opening ??= openDatabase(factory, databaseName, storeName));
  const store = async (key: string) => {
    timers.delete(key);
    const value = memory.get(key);
    const database = await open();
    const objects = database.transaction(storeName, "readwrite").objectStore(storeName);
    if (value === undefined) await done(objects.delete(key));
    else await done(objects.put(value, key));
  };
  storing.push(() =>
    Promise.allSettled(
      [...timers].map(([key, timer]) => {
        clearTimeout(timer);
        return store(key);
      }),
    ),
  );
  const kept = async (key: string): Promise<Value | undefined> => {
    try {
      const objects = (await open()).transaction(storeName).objectStore(storeName);
      return await done(objects.get(key) as IDBRequest<Value | undefined>);
    } catch {
      return undefined;
    }
  };
  return {
    async get(key) {
      if (memory.has(key) || !factory) return memory.get(key);
      const value = await kept(key);
      // What was set meanwhile is newer.
      if (!memory.has(key)) memory.set(key, value);
      return memory.get(key);
    },
    set(key, value) {
      memory.set(key, value);
      if (!factory) return;
      clearTimeout(timers.get(key));
      timers.set(
        key,
        setTimeout(() => void store(key).catch(() => {}), storedAfterMs),
      );
    },
    async all() {
      const found = new Map<string, Value>();
      if (factory) {
        const objects = (await open()).transaction(storeName).objectStore(storeName);
        const [keys, values] = await Promise.all([
          done(objects.getAllKeys()),
          done(objects.getAll() as IDBRequest<Value[]>),
        ]);
        for (const [at, value] of values.entries()) found.set(keys[at] as string, value);
      }
      for (const [key, value] of memory) {
        if (value === undefined) found.delete(key);
        else found.set(key, value);
      }
      return found;
    },
    async clear() {
      memory.clear();
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      if (!factory) return;
      const objects = (await open()).transaction(storeName, "readwrite").objectStore(storeName);
      await done(objects.clear());
    },
  };
}

function openDatabase(factory: IDBFactory, name: string, store: string): Promise<IDBDatabase> {
  const request = factory.open(name, 1);
  request.addEventListener("upgradeneeded", () => request.result.createObjectStore(store));
  return done(request);
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () =>
      reject(request.error ?? new Error("The device refused.")),
    );
  });
}
