// What a backup says about itself. It is written last, so an archive without it is incomplete.
import { CommandFailed } from "../command-failed.ts";

/** Raised when an older `hawser restore` could not read the archive. */
export const formatVersion = 1;

export interface Member {
  /** Path in the archive, such as `fabric/operator.seed`. */
  name: string;
  size: number;
  sha256: string;
}

export interface Manifest {
  format: number;
  /** The version of hawser that wrote it. */
  hawser: string;
  createdAt: string;
  postgres: { major: number; version: string };
  /** Name of the last migration; null if the database has none. */
  schemaVersion: string | null;
  migrations: string[];
  /** Everything except the manifest and its hash. */
  members: Member[];
}

/** Names of the members that are not the user's files. */
export const names = {
  manifest: "manifest.json",
  manifestHash: "manifest.json.sha256",
  roles: "roles.sql",
  database: "database.dump.gz",
} as const;

/**
 * The members that a restore accepts. An archive is unpacked only if every name is one of these, so that it
 * can write to no other place.
 */
const accepted = [
  /^(roles\.sql|database\.dump\.gz|settings\.json|master-key|bootstrap-key)$/,
  /^fabric\/(nats-server\.conf|nats-keys\.conf|operator\.seed)$/,
  /^host\/(credentials\.json|policy|sealing-key\.json|updates\.json)$/,
  /^host\/journal-\w+\.(sqlite|blobs\/[0-9a-f]{64})$/,
];

export const isAccepted = (name: string) => accepted.some((pattern) => pattern.test(name));

/** Throws if the text is no manifest of this format. */
export function readManifest(text: string, file: string): Manifest {
  let value: Manifest;
  try {
    value = JSON.parse(text) as Manifest;
  } catch {
    throw damaged(file, "its manifest cannot be read");
  }
  if (typeof value.format === "number" && value.format > formatVersion) {
    throw new CommandFailed(
      `${file} was made by a newer version of hawser (${value.hawser}), and this version cannot read it. Install that version or a later one.`,
    );
  }
  const isWhole =
    value.format === formatVersion &&
    Array.isArray(value.members) &&
    Array.isArray(value.migrations) &&
    typeof value.postgres?.major === "number";
  if (!isWhole) throw damaged(file, "its manifest is incomplete");
  for (const name of [names.roles, names.database, "settings.json", "master-key"]) {
    if (!value.members.some((member) => member.name === name)) {
      throw damaged(file, `${name} is missing`);
    }
  }
  return value;
}

export const damaged = (file: string, why: string) =>
  new CommandFailed(
    `${file} is damaged or is no backup of hawser: ${why}. Nothing was changed. Use another backup.`,
  );
