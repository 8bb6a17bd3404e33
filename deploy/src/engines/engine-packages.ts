// The engines as npm packages, one for each platform: PostgreSQL, nats-server and Node. A package contains the
// program, its licence texts and a manifest; it has no scripts and no dependencies.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  createReadStream,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { hashFiles, type Engine, type EngineName } from "@hawser/cli/engines/engine-list.ts";
import { packNode } from "../pack-node.ts";
import { writeTarball } from "./write-tarball.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const tools = join(root, ".tools");
const here = `${process.platform}-${process.arch}`;

/** What a package is made of, before it is packed. */
interface Contents {
  name: EngineName;
  platform: string;
  version: string;
  description: string;
  license: string;
  /** Writes the files into the package's directory. */
  write: (directory: string) => void | Promise<void>;
}

export interface BuiltEngines {
  engines: Engine[];
  /** One sentence for each engine that this machine cannot build. */
  missing: string[];
}

/** Writes a tarball for every engine that this machine has. */
export async function buildEngines(out: string): Promise<BuiltEngines> {
  mkdirSync(out, { recursive: true });
  const engines: Engine[] = [];
  const missing: string[] = [];
  for (const contents of [natsContents(), ...nodeContents(), postgresContents()]) {
    if (typeof contents === "string") missing.push(contents);
    else engines.push(await build(out, contents));
  }
  return { engines, missing };
}

/** npm's name of the tarball of a package. */
export const tarballName = ({ package: name, version }: Pick<Engine, "package" | "version">) =>
  `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;

async function build(out: string, contents: Contents): Promise<Engine> {
  const { name, platform, version } = contents;
  const [os = "", cpu = ""] = platform.split("-");
  const packageName = `@hawser/${name}-${platform}`;
  const directory = mkdtempSync(join(tmpdir(), "hawser-engine-"));
  try {
    await contents.write(directory);
    const manifest = {
      name: packageName,
      version,
      description: contents.description,
      license: contents.license,
      os: [os],
      cpu: [cpu],
      ...(os === "linux" && { libc: ["glibc"] }),
    };
    writeFileSync(join(directory, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
    const file = join(out, tarballName({ package: packageName, version }));
    await writeTarball(directory, file);
    const hash = createHash("sha512");
    await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash);
    return {
      name,
      version,
      platform,
      package: packageName,
      path: `${packageName}/-/${name}-${platform}-${version}.tgz`,
      size: statSync(file).size,
      sha512: hash.digest("base64"),
      files: await hashFiles(directory),
      unpackedSize: sizeOf(directory),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function natsContents(): Contents | string {
  const program = join(tools, "nats-server");
  if (!existsSync(program)) return "nats-server is missing: run npm run setup.";
  const text = execFileSync(program, ["--version"], { encoding: "utf8" });
  const version = /v(\d+\.\d+\.\d+)/.exec(text)![1]!;
  return {
    name: "nats",
    platform: here,
    version,
    description: `nats-server ${version} for ${here}, as Debian builds it`,
    license: "Apache-2.0",
    write(directory) {
      mkdirSync(join(directory, "bin"));
      cpSync(program, join(directory, "bin/nats-server"));
      // The licence of nats-server is that of Hawser, word for word.
      cpSync(join(root, "LICENSE"), join(directory, "LICENSE"));
      cpSync(join(root, "deploy/licences/nats-server.txt"), join(directory, "THIRD-PARTY.txt"));
    },
  };
}

function nodeContents(): (Contents | string)[] {
  const require = createRequire(import.meta.url);
  return ["linux-x64", "linux-arm64"].map((platform) => {
    let manifest: string;
    try {
      manifest = require.resolve(`node-${platform}/package.json`);
    } catch {
      return `Node for ${platform} is missing: build its package on a machine of that platform.`;
    }
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
    return {
      name: "node",
      platform,
      version,
      description: `Node ${version} for ${platform}, gzipped, as the daemon's release names it`,
      license: "MIT",
      async write(directory) {
        await packNode(directory, platform);
        cpSync(join(dirname(manifest), "LICENSE"), join(directory, "LICENSE"));
      },
    };
  });
}

function postgresContents(): Contents | string {
  const found = globSync(join(tools, `engines/postgres-*-${here}`))
    .sort()
    .at(-1);
  if (!found) {
    return "PostgreSQL is missing: run deploy/src/engines/build-postgres.sh .tools/engines.";
  }
  const [, version] = /^postgres-(\d+\.\d+)-/.exec(basename(found))!;
  return {
    name: "postgres",
    platform: here,
    version: `${version}.0`,
    description: `PostgreSQL ${version} for ${here}, which runs from any directory`,
    license: "PostgreSQL AND Zlib",
    write: (directory) => cpSync(found, directory, { recursive: true }),
  };
}

function sizeOf(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((all, entry) => all + statSync(join(entry.parentPath, entry.name)).size, 0);
}
