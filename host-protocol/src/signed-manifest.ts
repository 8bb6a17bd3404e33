// Signed manifests of what may be installed on a host: the daemon, and the agents. A manifest is a JSON
// file; a second file has its Ed25519 signature of 64 bytes. Two keys are trusted, so that one can be
// replaced: a release is signed with either.
//
// The signature proves the publisher. The expiry date prevents the replay of an old manifest, and `type`
// prevents the use of one manifest in place of another.
import { AgentKind, received, type MessageSchema } from "@hawser/contract";
import { z } from "zod";
import { isSignedBy, signWith } from "./nkey.ts";

/** Supported platforms, in Node's names, with glibc. */
export const Platform = z.enum(["linux-x64", "linux-arm64"]);
export type Platform = z.infer<typeof Platform>;

/** A file beside the manifest. */
const PublishedFile = z.strictObject({
  file: z.string().regex(/^[\w][\w.-]*$/),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.int().min(1),
});
export type PublishedFile = z.infer<typeof PublishedFile>;

const dates = { publishedAt: z.iso.datetime(), expiresAt: z.iso.datetime() };
export const Version = z.string().regex(/^\d+\.\d+\.\d+$/);

/** One version of the daemon, with the Node that runs it. Served as releases/daemon.json. */
export const DaemonManifest = z.strictObject({
  type: z.literal("hawser daemon"),
  version: Version,
  ...dates,
  platforms: z.partialRecord(
    Platform,
    z.strictObject({
      /** One JavaScript file. */
      daemon: PublishedFile,
      /** Node's executable, gzipped. */
      node: PublishedFile.extend({ version: Version }),
    }),
  ),
});
export type DaemonManifest = z.infer<typeof DaemonManifest>;

/** An npm tarball, by its path below the download address of packages. */
const AgentPackage = z.strictObject({
  path: z.string().regex(/^(@[\w.-]+\/)?[\w.-]+\/-\/[\w.-]+\.tgz$/),
  /** In base64, as in npm's lock files. */
  sha512: z.string().regex(/^[A-Za-z0-9+/]{86}==$/),
  /** Size of the tarball in bytes. */
  size: z.int().min(1),
  /** Directory to unpack it to, within the agent's directory. */
  into: z.string().regex(/^(\.|[\w@][\w.@-]*(\/[\w@][\w.@-]*)*)$/),
});
export type AgentPackage = z.infer<typeof AgentPackage>;

/** One agent for one platform. */
const PublishedAgent = z.strictObject({
  kind: AgentKind,
  version: Version,
  platform: Platform,
  packages: z.array(AgentPackage).min(1),
  /** The program to run, within the agent's directory. */
  program: z.string().regex(/^[\w@][\w.@-]*(\/[\w@][\w.@-]*)*$/),
});
export type PublishedAgent = z.infer<typeof PublishedAgent>;

/** Agents that the service ships. The list is kept with the source and published with dates and a signature. */
export const AgentTable = z.strictObject({
  /** Increases with each list; a host never uses a lower one than before. */
  serial: z.int().min(1),
  agents: z.array(PublishedAgent),
});
export type AgentTable = z.infer<typeof AgentTable>;

/** Served as releases/agents.json. */
export const AgentManifest = AgentTable.extend({ type: z.literal("hawser agents"), ...dates });
export type AgentManifest = z.infer<typeof AgentManifest>;

/** Why a manifest is refused. */
export class ManifestRefused extends Error {
  readonly code: "not_signed" | "unreadable" | "expired";

  constructor(code: ManifestRefused["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Throws ManifestRefused. `now` is the time by the service's clock, in milliseconds; undefined if the manifest
 * may be of any age, because it did not come over a network. Contents that this version does not know are left
 * out, so that a daemon of any age can install the published one.
 */
export function readManifest<Manifest extends { expiresAt: string }>(
  schema: MessageSchema<Manifest>,
  bytes: Uint8Array,
  signature: Uint8Array,
  trustedKeys: readonly string[],
  now: number | undefined,
): Manifest {
  const text = Buffer.from(bytes).toString();
  const signed = Buffer.from(signature).toString("base64");
  if (!trustedKeys.some((key) => isSignedBy(key, text, signed))) {
    throw new ManifestRefused("not_signed", "The manifest is not signed by a key that is trusted.");
  }
  let manifest: Manifest;
  try {
    manifest = received(schema).parse(JSON.parse(text));
  } catch (cause) {
    const refusal = new ManifestRefused("unreadable", "The manifest cannot be understood.");
    refusal.cause = cause;
    throw refusal;
  }
  const { expiresAt } = manifest;
  if (now !== undefined && Date.parse(expiresAt) <= now) {
    throw new ManifestRefused("expired", `The manifest was good until ${expiresAt}.`);
  }
  return manifest;
}

/** The manifest's signature, 64 bytes. */
export function signManifest(privateKey: string, text: string): Buffer {
  return Buffer.from(signWith(privateKey, text), "base64");
}

/** Whether `a` is a later version than `b`. */
export function isNewer(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  for (const [index, number] of left!.entries()) {
    const difference = number - (right![index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
