// The client: every action as a function, lists as iterators over all their pages, files, and both streams.
import { actionNames, type Actions, type CallOptions } from "./actions.ts";
import { call } from "./call.ts";
import { downloadFile, uploadFile, type UploadedFile, type UploadOptions } from "./files.ts";
import type { Service } from "./request.ts";
import {
  followEvents,
  followSession,
  type FollowOptions,
  type FollowSession,
  type OrganizationEvent,
  type SessionStreamEvent,
} from "./streams.ts";

export interface ClientOptions {
  /** The address of the service, such as https://hawser.example. */
  url: string;
  /** An API key. */
  key: string;
  /** Limits a call with all its attempts, and how long a stream tries to connect again. Default: 60 seconds. */
  deadlineMs?: number;
  /** Limits one attempt of a call. Default: 45 seconds; the service waits for a host for 30 at most. */
  attemptMs?: number;
  /** A stream that is silent for this long is broken. Default: 40 seconds; the service sends something every 15. */
  silenceMs?: number;
  /** Sends requests. Default: the global fetch. */
  fetch?: typeof fetch;
}

type ResultOf<Name extends keyof Actions> = Awaited<ReturnType<Actions[Name]>>;
type BodyOf<Name extends keyof Actions> = NonNullable<Parameters<Actions[Name]>[0]>;

/** Actions that return a list in pages. */
export type PagedAction = {
  [Name in keyof Actions]: ResultOf<Name> extends { nextCursor: unknown } | { nextAfter: unknown }
    ? EntryOf<Name> extends never
      ? never
      : Name
    : never;
}[keyof Actions];

/** An entry of an action's list. */
export type EntryOf<Name extends keyof Actions> = {
  [Field in keyof ResultOf<Name>]: ResultOf<Name>[Field] extends (infer Entry)[] ? Entry : never;
}[keyof ResultOf<Name>];

export interface Client extends Actions {
  /** Every entry of a list, page after page. */
  each<Name extends PagedAction>(
    action: Name,
    body?: BodyOf<Name>,
    options?: Omit<CallOptions, "idempotencyKey">,
  ): AsyncGenerator<EntryOf<Name>, void, void>;
  /** Stores a file for prompts. */
  uploadFile(
    content: string | Uint8Array<ArrayBuffer> | Blob,
    options?: UploadOptions,
  ): Promise<UploadedFile>;
  /** The bytes of a file for prompts. */
  downloadFile(
    fileId: string,
    options?: Omit<CallOptions, "idempotencyKey">,
  ): Promise<Uint8Array<ArrayBuffer>>;
  /** A session's log after an entry, without a gap and without a repeat, and what is sent beside it. */
  followSession(options: FollowSession): AsyncGenerator<SessionStreamEvent, void, void>;
  /** Changes of the organization's records. */
  followEvents(options?: FollowOptions): AsyncGenerator<OrganizationEvent, void, void>;
}

export function createClient(options: ClientOptions): Client {
  const service: Service = {
    url: new URL(options.url).href.replace(/\/+$/, ""),
    key: options.key,
    // Browsers refuse to run fetch as a method of another object.
    fetch: options.fetch ?? ((...request) => fetch(...request)),
    deadlineMs: options.deadlineMs ?? 60_000,
    attemptMs: options.attemptMs ?? 45_000,
    silenceMs: options.silenceMs ?? 40_000,
  };
  const actions = actionNames.map((name) => [
    name,
    (body?: unknown, callOptions?: CallOptions) => call(service, name, body, callOptions),
  ]);
  return {
    ...(Object.fromEntries(actions) as unknown as Actions),
    each: (action, body, callOptions) => each(service, action, body, callOptions),
    uploadFile: (content, about) => uploadFile(service, content, about),
    downloadFile: (fileId, about) => downloadFile(service, fileId, about),
    followSession: (about) => followSession(service, about),
    followEvents: (about) => followEvents(service, about),
  };
}

interface Page {
  nextCursor?: string | null;
  nextAfter?: number | null;
}

async function* each<Name extends PagedAction>(
  service: Service,
  action: Name,
  body: object = {},
  options: CallOptions = {},
): AsyncGenerator<EntryOf<Name>, void, void> {
  let place: object = {};
  for (;;) {
    const page = (await call(service, action, { ...body, ...place }, options)) as Page;
    // A page has one list. It can be empty before the end.
    yield* Object.values(page).find(Array.isArray) as EntryOf<Name>[];
    const { nextCursor, nextAfter } = page;
    if (typeof nextCursor === "string") place = { cursor: nextCursor };
    else if (typeof nextAfter === "number") place = { after: nextAfter };
    else return;
  }
}
