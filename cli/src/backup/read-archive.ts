// Reads a backup. Nothing of it is used before every hash was compared.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { InstallRefused } from "@hawser/daemon/installs/refused.ts";
import { readTar } from "@hawser/daemon/installs/tar.ts";
import { CommandFailed } from "../command-failed.ts";
import { damaged, isAccepted, names, readManifest, type Manifest } from "./manifest.ts";
import { top } from "./write-archive.ts";

const largestManifest = 16 * 1024 * 1024;

/** Compares every member with the manifest. Throws a sentence if the archive is damaged. */
export async function checkArchive(file: string): Promise<Manifest> {
  const found = new Map<string, { size: number; sha256: string; text: string }>();
  for await (const { name, content } of members(file)) {
    const isOwn = name === names.manifest || name === names.manifestHash;
    if (found.has(name)) throw damaged(file, `it contains ${name} twice`);
    if (!isOwn && !isAccepted(name)) {
      throw damaged(file, `it contains ${JSON.stringify(name)}, which belongs in no backup`);
    }
    const hash = createHash("sha256");
    const texts: Buffer[] = [];
    let size = 0;
    for await (const part of content) {
      hash.update(part);
      size += part.length;
      if (isOwn && size > largestManifest) throw damaged(file, "its manifest is too long");
      if (isOwn) texts.push(part);
    }
    found.set(name, { size, sha256: hash.digest("hex"), text: Buffer.concat(texts).toString() });
  }
  const manifest = found.get(names.manifest);
  const noted = found.get(names.manifestHash)?.text.trim();
  if (!manifest || !noted) throw damaged(file, "its end is missing");
  if (manifest.sha256 !== noted) throw damaged(file, "its manifest was changed");
  const read = readManifest(manifest.text, file);
  for (const { name, size, sha256 } of read.members) {
    const member = found.get(name);
    if (!member) throw damaged(file, `${name} is missing`);
    if (member.size !== size || member.sha256 !== sha256)
      throw damaged(file, `${name} was changed`);
  }
  if (found.size !== read.members.length + 2) throw damaged(file, "it contains more than it lists");
  return read;
}

export interface ArchiveMember {
  name: string;
  /** Read it before the next member. */
  content: AsyncIterable<Buffer>;
}

/** The members in the order of the archive. */
export async function* members(file: string): AsyncGenerator<ArchiveMember> {
  await access(file).catch((cause: Error) => {
    throw new CommandFailed(`The backup ${file} cannot be read: ${cause.message}.`);
  });
  const stream = createReadStream(file, { highWaterMark: 1 << 20 });
  try {
    for await (const entry of readTar(stream as AsyncIterable<Buffer>, top)) {
      if (entry.type === "directory") throw damaged(file, "it contains a directory");
      yield { name: entry.path.join("/"), content: explained(file, entry.content) };
    }
  } catch (error) {
    throw explain(file, error);
  } finally {
    stream.destroy();
  }
}

async function* explained(file: string, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* content;
  } catch (error) {
    throw explain(file, error);
  }
}

function explain(file: string, error: unknown): unknown {
  if (!(error instanceof InstallRefused)) return error;
  return damaged(file, error.message.replace(/^The package is refused: |\.$/g, ""));
}
