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
import type { Access, LoginPlace } from "../drivers/login.ts";
import { describe, silentLog, type Log } from "../log.ts";
import { removeTreeNow } from "../remove-tree.ts";
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
  /** Null while another account replaces this one. A crash may leave it so; the person links it again then. */
  access: Access | null;
}

/** How a login is used, also one of a former version of the daemon. */
export const bySubscription: Access = {
  way: "subscription",
  baseUrl: null,
  region: null,
  projectId: null,
};

/** Names a linked secret for its owner, and does not give it away. */
export function nameOf({ baseUrl, projectId }: Access, secret: string): string {
  if (baseUrl !== null) return new URL(baseUrl).host;
  return projectId ?? (secret.length < 20 ? "…" : `…${secret.slice(-4)}`);
}

export interface AccountPlace extends LoginPlace {
  /** The used quota of the account. */
  quotaFile: string;
}

export interface Homes {
  list(): Link[];
  /** undefined if the person has linked no account of this kind. */
  find(ownerId: string, kind: LinkableKind): Link | undefined;
  /** Makes the directories if they are missing. */
  open(ownerId: string, kind: LinkableKind): AccountPlace;
  save(link: Link): void;
  /** From now on the account is not used. */
  unlink(ownerId: string, kind: LinkableKind): void;
  /** Whether there is a home, linked or not. */
  exists(ownerId: string, kind: LinkableKind): boolean;
  /** Removes login, settings and transcripts. */
  remove(ownerId: string, kind: LinkableKind): void;
  removeAll(): void;
}

export function openHomes(directory: string, instanceId: string, log: Log = silentLog): Homes {
  const own = join(directory, instanceId);
  /** What cannot be removed must not keep the host from starting. Nothing uses it. */
  const discard = (place: string) => {
    try {
      removeTreeNow(place);
    } catch (error) {
      log.warn("a home was not removed", { place, error: describe(error) });
    }
  };
  for (const name of entriesOf(directory)) {
    if (name !== instanceId) discard(join(directory, name));
  }
  for (const ownerId of entriesOf(own)) {
    for (const kind of entriesOf(join(own, ownerId))) {
      const place = join(own, ownerId, kind);
      if (!existsSync(join(place, "link.json"))) discard(place);
    }
  }
  // Codex's sandbox closes the directories that exist when a session starts.
  mkdirSync(own, { recursive: true, mode: 0o700 });

  function placeOf(ownerId: string, kind: LinkableKind): string {
    // Both become a part of a path.
    return join(own, OwnerId.parse(ownerId), LinkableKind.parse(kind));
  }

  const linkFile = (ownerId: string, kind: LinkableKind) =>
    join(placeOf(ownerId, kind), "link.json");

  function find(ownerId: string, kind: LinkableKind): Link | undefined {
    let found: Record<string, unknown> | undefined;
    try {
      found = readJson(linkFile(ownerId, kind));
    } catch (error) {
      log.warn("an account cannot be read, so it is not used", { ownerId, error: describe(error) });
    }
    if (!found) return undefined;
    type Kept = Omit<Link, "ownerId" | "kind" | "access"> & { access?: Access | null };
    const { access = bySubscription, ...named } = found as unknown as Kept;
    return { ...named, access, ownerId, kind };
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
      const quotaFile = join(placeOf(ownerId, kind), "quota.json");
      return { home: home!, temporary: temporary!, quotaFile };
    },
    save: ({ ownerId, kind, ...link }) => replaceFile(linkFile(ownerId, kind), link),
    unlink: (ownerId, kind) => rmSync(linkFile(ownerId, kind), { force: true }),
    exists: (ownerId, kind) => existsSync(placeOf(ownerId, kind)),
    remove: (ownerId, kind) => removeTreeNow(placeOf(ownerId, kind)),
    removeAll: () => removeTreeNow(directory),
  };
}

function entriesOf(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}
