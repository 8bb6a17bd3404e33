// Where people's agent accounts are on this host: one directory for each person and kind, which only the daemon's
// user can read. It contains the agent's home, a directory for temporary files, and what is known about the
// account.
//
// Opening them removes what must not be used again: directories of another instance, because a host that is
// paired again must not continue with the logins of its former organization, and those of a login or of an
// unlinking that the end of the daemon cut short.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LinkableKind } from "@hawser/contract";
import { OwnerId } from "@hawser/host-protocol";
import type { LoginPlace } from "../drivers/login.ts";
import { replaceFile } from "../state/replace-file.ts";
import { readJson } from "../state/state.ts";

/** A linked account, without credentials. */
export interface Link {
  ownerId: string;
  kind: LinkableKind;
  account: string | null;
  plan: string | null;
  /** ISO date and time; null if the login has no known end. */
  expiresAt: string | null;
}

export interface Homes {
  list(): Link[];
  /** undefined if the person has linked no account of this kind. */
  find(ownerId: string, kind: LinkableKind): Link | undefined;
  /** Makes the directories if they are missing. */
  open(ownerId: string, kind: LinkableKind): LoginPlace;
  save(link: Link): void;
  /** From now on the account is not used. Returns false if none was linked. */
  unlink(ownerId: string, kind: LinkableKind): boolean;
  /** Removes login, settings and transcripts. */
  remove(ownerId: string, kind: LinkableKind): void;
  removeAll(): void;
}

export function openHomes(directory: string, instanceId: string): Homes {
  const own = join(directory, instanceId);
  for (const name of entriesOf(directory)) {
    if (name !== instanceId) rmSync(join(directory, name), { recursive: true, force: true });
  }

  for (const ownerId of entriesOf(own)) {
    const kinds = entriesOf(join(own, ownerId));
    for (const kind of kinds) {
      const place = join(own, ownerId, kind);
      if (!existsSync(join(place, "link.json"))) rmSync(place, { recursive: true, force: true });
    }
  }

  function placeOf(ownerId: string, kind: LinkableKind): string {
    // Both become a part of a path.
    return join(own, OwnerId.parse(ownerId), LinkableKind.parse(kind));
  }

  const linkFile = (ownerId: string, kind: LinkableKind) =>
    join(placeOf(ownerId, kind), "link.json");

  function find(ownerId: string, kind: LinkableKind): Link | undefined {
    const found = readJson(linkFile(ownerId, kind));
    return found && { ...(found as Pick<Link, "account" | "plan" | "expiresAt">), ownerId, kind };
  }

  return {
    find,
    list: () =>
      entriesOf(own)
        .filter((ownerId) => OwnerId.safeParse(ownerId).success)
        .flatMap((ownerId) => LinkableKind.options.flatMap((kind) => find(ownerId, kind) ?? [])),
    open(ownerId, kind) {
      const [home, temporary] = ["home", "tmp"].map((name) => join(placeOf(ownerId, kind), name));
      for (const path of [home!, temporary!]) mkdirSync(path, { recursive: true, mode: 0o700 });
      return { home: home!, temporary: temporary! };
    },
    save({ ownerId, kind, account, plan, expiresAt }) {
      replaceFile(linkFile(ownerId, kind), { account, plan, expiresAt });
    },
    unlink(ownerId, kind) {
      const isLinked = existsSync(linkFile(ownerId, kind));
      rmSync(linkFile(ownerId, kind), { force: true });
      return isLinked;
    },
    remove: (ownerId, kind) =>
      rmSync(placeOf(ownerId, kind), { recursive: true, force: true, maxRetries: 5 }),
    removeAll: () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function entriesOf(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}
