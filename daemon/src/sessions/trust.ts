// Configuration of a repository that the organization trusts. A session uses it if its repository has a
// trusted origin. The files are those of the origin's default branch; nothing that is in the repository on
// the host counts.
import { join } from "node:path";
import { originOf, TrustedPart, type TrustedRepository } from "@hawser/contract";
import { readConfigFile } from "../drivers/config-file.ts";
import type { Driver } from "../drivers/driver.ts";
import { GitError } from "../git/git.ts";
import type { TrustedConfig } from "../journal/driven-sessions.ts";
import type { Session } from "./session.ts";

const unfitAddress =
  "The address of the remote origin has no encryption, or contains a user. Change it to https or ssh without a user (git is allowed), and start a new session.";

/** Copies what the agent may use; undefined if the organization does not trust the repository. */
export async function copyTrusted(
  session: Session,
  driver: Driver,
  repositories: readonly TrustedRepository[],
  signal: AbortSignal,
): Promise<TrustedConfig | undefined> {
  const address = session.record?.origin;
  if (!address) return undefined;
  const named = originOf(withoutUser(address.replace(/^(?:http|git):/, "https:")));
  const repository = repositories.find(({ origin }) => origin === named);
  if (!repository) return undefined;
  const { origin } = repository;
  const unused = (reason: string | null) => ({ origin, parts: [], paths: [], reason });
  if (originOf(address) !== origin) return unused(unfitAddress);
  const wanted = TrustedPart.options.filter((part) => repository.parts.includes(part));
  const usable = wanted.filter((part) => Object.keys(driver.trustable[part] ?? {}).length > 0);
  const unusable = wanted.filter((part) => driver.trustable[part] === undefined);
  const limits = unusable.length > 0 ? [`${driver.kind} cannot use ${unusable.join(", ")}.`] : [];
  if (usable.length === 0) return unused(limits[0] ?? null);
  try {
    const copies = await copyParts(session, driver, usable, address, signal);
    const used = copies.filter(({ paths, broken }) => paths.length > 0 && !broken);
    const problems = copies.flatMap(({ part, broken }) =>
      broken
        ? [
            `${part} is not used: ${broken} of the default branch is not valid ${formatOf(broken)}. Correct it, and start a new session.`,
          ]
        : [],
    );
    return {
      origin,
      parts: used.map(({ part }) => part),
      paths: used.flatMap(({ paths }) => paths).slice(0, 100),
      reason: [...limits, ...problems].join(" ") || null,
    };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    session.warn("trusted configuration was not copied", error);
    return unused(`The files could not be copied from origin. ${error.message}`);
  }
}

const withoutUser = (address: string) =>
  address.replace(/^(https|ssh):\/\/[^/]*@/, "$1://").replace(/^[^/@:]+@/, "git@");

const formatOf = (path: string) => (path.endsWith(".toml") ? "TOML" : "JSON");

interface Copy {
  part: TrustedPart;
  paths: string[];
  /** A file that the agent could not read; undefined if there is none. */
  broken: string | undefined;
}

async function copyParts(
  { id, host }: Session,
  driver: Driver,
  parts: readonly TrustedPart[],
  address: string,
  signal: AbortSignal,
): Promise<Copy[]> {
  const { trustedFiles } = host.worktrees;
  const access = await host.pushes.findAccess(address, signal);
  const places = parts.map((part) => driver.trustable[part]!);
  const copied = await trustedFiles.copy(id, { address, access }, places, signal);
  const isBroken = (copy = "") =>
    /\.(?:json|toml)$/.test(copy) && !readConfigFile(join(trustedFiles.directoryOf(id), copy));
  return parts.map((part, index) => {
    const paths = copied[index]!;
    return { part, paths, broken: paths.find((path) => isBroken(places[index]![path])) };
  });
}

/** What the agent's process receives; undefined if the session uses no part. */
export function trustedOf({ host, id }: Session, trusted: TrustedConfig | undefined) {
  if (!trusted || trusted.parts.length === 0) return undefined;
  return { parts: trusted.parts, directory: host.worktrees.trustedFiles.directoryOf(id) };
}
