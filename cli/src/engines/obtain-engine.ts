// Brings an engine of the signed list onto this machine: the one that was unpacked before, the npm package
// beside this one if its files have the signed hash, or a download into the data directory. The launcher
// uses it too, on any Node since 18.18.
import {
  createReadStream,
  createWriteStream,
  existsSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { chmod, cp, mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { download } from "@hawser/daemon/installs/download.ts";
import { InstallRefused } from "@hawser/daemon/installs/refused.ts";
import { unpack } from "@hawser/daemon/installs/unpack.ts";
import { trustedKeys } from "@hawser/daemon/release.ts";
import { CommandFailed } from "../command-failed.ts";
import {
  hashFiles,
  platformHere,
  readEngineList,
  type Engine,
  type EngineName,
} from "./engine-list.ts";
import { reportProgress } from "./progress.ts";
import { registryAddress } from "./registry.ts";

export interface ObtainOptions {
  dataDirectory: string;
  packageDirectory: string;
  onProgress: (sentence: string) => void;
  /** Default: true. If false, an engine that would have to be downloaded counts as missing. */
  mayDownload?: boolean;
  /** Default: the keys that the release has built in. */
  trustedKeys?: readonly string[];
}

export interface ObtainedEngine {
  engine: Engine;
  /** The files of the package, and for Node also the unpacked program. */
  directory: string;
}

/** The engine of the list for this machine; undefined if the list has none. */
export function listedEngine(name: EngineName, options: ObtainOptions): Engine | undefined {
  const list = readEngineList(options.packageDirectory, options.trustedKeys ?? trustedKeys);
  const platform = platformHere();
  return list?.engines.find((engine) => engine.name === name && engine.platform === platform);
}

/** undefined if it would have to be downloaded and may not be. Throws CommandFailed. */
export async function obtainEngine(
  engine: Engine,
  options: ObtainOptions,
): Promise<ObtainedEngine | undefined> {
  const { dataDirectory, packageDirectory, mayDownload = true } = options;
  const engines = join(dataDirectory, "engines");
  const directory = join(engines, `${engine.name}-${engine.version}`);
  if (existsSync(directory)) return { engine, directory };
  const beside = await findBeside(packageDirectory, engine);
  if (beside && engine.name !== "node") return { engine, directory: beside };
  if (!beside && !mayDownload) return undefined;
  try {
    await bring(engine, engines, directory, beside, options);
  } catch (error) {
    throw asSentence(error, engine, engines);
  }
  return { engine, directory };
}

/**
 * The package in a node_modules above this one; undefined if its files are not those of the list, or if another
 * user can change them.
 */
async function findBeside(packageDirectory: string, engine: Engine): Promise<string | undefined> {
  for (let at = realpathSync(packageDirectory); ; at = dirname(at)) {
    const modules = join(at, "node_modules");
    const directory = join(modules, engine.package);
    if (existsSync(directory)) {
      const real = realpathSync(directory);
      const places = [modules, dirname(directory), real];
      if (!places.every((place) => isSafe(place, packageDirectory))) return undefined;
      return (await hashFiles(real)) === engine.files ? real : undefined;
    }
    if (at === dirname(at)) return undefined;
  }
}

/**
 * Whether only this user, the administrator and the user who installed hawser can write there: any other could
 * replace a program after its hash was compared.
 */
function isSafe(directory: string, packageDirectory: string): boolean {
  const { uid, mode } = statSync(directory);
  const trusted = [0, process.getuid?.() ?? uid, statSync(packageDirectory).uid];
  return trusted.includes(uid) && (mode & 0o002) === 0;
}

async function bring(
  engine: Engine,
  engines: string,
  directory: string,
  beside: string | undefined,
  options: ObtainOptions,
): Promise<void> {
  await mkdir(engines, { recursive: true, mode: 0o700 });
  await refuseSmallDisk(engine, engines, beside !== undefined);
  const title = titleOf(engine);
  await removeLeftovers(engines);
  const next = `${directory}.${process.pid}`;
  const { signal } = new AbortController();
  try {
    if (beside) {
      await cp(beside, next, { recursive: true });
    } else {
      const tarball = join(engines, `${engine.name}-${engine.version}.tgz.part`);
      {
        using progress = reportProgress(`Downloading ${title}`, engine.size, options.onProgress);
        const url = new URL(engine.path, await registryAddress()).href;
        const { size, sha512 } = engine;
        await download({ url, file: tarball, size, sha512, onBytes: progress.add, signal });
      }
      using progress = reportProgress(`Unpacking ${title}`, engine.size, options.onProgress);
      await unpack({
        tarball,
        into: next,
        limitBytes: engine.unpackedSize,
        onBytes: progress.add,
        signal,
      });
      await rm(tarball);
    }
    if (engine.name === "node") await unpackNode(engine, next, options.onProgress);
    await rename(next, directory);
  } catch (error) {
    rmSync(next, { recursive: true, force: true });
    // Another process was faster, with the same files.
    if (!existsSync(directory)) throw error;
  }
}

/** Removes what killed processes had begun to unpack: directories that end with the id of no other process. */
async function removeLeftovers(engines: string): Promise<void> {
  for (const name of await readdir(engines)) {
    const pid = Number(/^\w+-\d+\.\d+\.\d+\.(\d+)$/.exec(name)?.[1] ?? 0);
    if (pid !== 0 && (pid === process.pid || !isAlive(pid))) {
      await rm(join(engines, name), { recursive: true, force: true });
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Node's package contains one gzipped program, which also goes to other hosts as it is. */
async function unpackNode(
  engine: Engine,
  directory: string,
  onProgress: (sentence: string) => void,
): Promise<void> {
  const packed = createReadStream(join(directory, packedNode(engine)), { highWaterMark: 1 << 20 });
  using progress = reportProgress(`Unpacking ${titleOf(engine)}`, engine.size, onProgress);
  packed.on("data", (chunk) => progress.add(chunk.length));
  const program = join(directory, "node");
  await pipeline(packed, createGunzip({ chunkSize: 1 << 18 }), createWriteStream(program));
  await chmod(program, 0o755);
}

/** Name of the file in Node's package, as the daemon's release names it. */
export const packedNode = ({ version, platform }: Engine) => `node-${version}-${platform}.gz`;

/** Node's program unpacked: measured with 24.21. */
const nodeBytes = 130_000_000;

async function refuseSmallDisk(engine: Engine, engines: string, isHere: boolean): Promise<void> {
  const { bavail, bsize } = await statfs(engines);
  const wanted =
    (isHere ? 0 : engine.size) + engine.unpackedSize + (engine.name === "node" ? nodeBytes : 0);
  const free = bavail * bsize;
  if (free < wanted) throw diskFull(engine, engines, `${megabytes(free)} MB are free`);
}

const diskFull = (engine: Engine, engines: string, why: string) =>
  new CommandFailed(
    `The disk of ${engines} is full: ${titleOf(engine)} does not fit, ${why}. Free some space, or name another data directory with --data.`,
  );

/** The name for people. */
export function titleOf({ name, version }: Pick<Engine, "name" | "version">): string {
  if (name === "postgres") return `PostgreSQL ${version.replace(/\.0$/, "")}`;
  return `${{ nats: "nats-server", node: "Node" }[name]} ${version}`;
}

const megabytes = (bytes: number) => Math.floor(bytes / 1e6);

/** Node uses a proxy only if it is asked to. */
function proxyAdvice(): string {
  const { env } = process;
  const proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].find(
    (name) => env[name],
  );
  if (!proxy || env["NODE_USE_ENV_PROXY"]) return "";
  return `To use the proxy of ${proxy}, set NODE_USE_ENV_PROXY=1 as well. `;
}

function asSentence(error: unknown, engine: Engine, engines: string): CommandFailed {
  if (error instanceof CommandFailed) return error;
  const { message, code = "" } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull(engine, engines, "no space is left");
  const title = titleOf(engine);
  const otherWays = `Or install it with npm beside hawser: npm install -g hawser ${engine.package}@${engine.version}`;
  if (error instanceof InstallRefused && error.code === "download_failed") {
    const reason = (error.cause as Error | undefined)?.cause as NodeJS.ErrnoException | undefined;
    const detail = reason?.code === undefined ? "." : ` (${reason.code}).`;
    const why = message.replace(/\. Try again\.$/, detail);
    return new CommandFailed(
      `${title} is not on this machine and cannot be downloaded. ${why} The next start continues the download. ${proxyAdvice()}${otherWays}`,
    );
  }
  if (error instanceof InstallRefused) {
    return new CommandFailed(
      `${title} was not installed. ${message} Start again to download it anew. ${otherWays}`,
    );
  }
  if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"].includes(code)) {
    return new CommandFailed(
      `${title} cannot be placed in ${engines} (${code}). Choose a directory that you may write to with --data.`,
    );
  }
  return new CommandFailed(`${title} is not on this machine and was not installed: ${message}`);
}
