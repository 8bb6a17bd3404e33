// The node of the control plane, as a process of its own.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { filesLike } from "../engines/files-like.ts";
import { bracketed, localUrl } from "../local-url.ts";
import { nodeSettings, partEnvironment } from "./environment.ts";
import { untilOk, untilTrue } from "./nats.ts";
import { ownsPort } from "./port-owner.ts";
import { controlPlaneOf, masterKeyOf } from "./set-up.ts";
import type { Part } from "./supervise.ts";

export interface NodeOptions {
  dataDirectory: string;
  packageDirectory: string;
  version: string;
  databaseUrl: string;
  listen: { host: string; port: number };
  /** The address for callers and hosts. */
  url: string;
  nats: { url: string; websocket: string };
  agentPackages: string | undefined;
}

export function nodePart(options: NodeOptions): Part {
  const { dataDirectory, packageDirectory, listen, nats } = options;
  return {
    name: "node",
    title: "The node",
    version: options.version,
    program: process.execPath,
    args: [controlPlaneOf(packageDirectory), "serve"],
    environment: partEnvironment({
      // Other programs have the usual port of the metrics, too.
      HAWSER_METRICS_LISTEN: "off",
      // No balancer has to notice that the only node stops.
      HAWSER_DRAIN_SECONDS: "0",
      ...(options.agentPackages && { HAWSER_AGENT_PACKAGES: options.agentPackages }),
      ...nodeSettings(),
      HAWSER_DATABASE_URL: options.databaseUrl,
      HAWSER_MASTER_KEY_FILE: masterKeyOf(dataDirectory),
      HAWSER_LISTEN: `${bracketed(listen.host)}:${listen.port}`,
      HAWSER_BASE_URL: options.url,
      HAWSER_NATS_URLS: nats.url,
      HAWSER_NATS_WEBSOCKETS: nats.websocket,
      HAWSER_RELEASES: join(dataDirectory, "releases"),
      NODE_COMPILE_CACHE: join(dataDirectory, "cache"),
    }),
    async untilReady(pid, signal) {
      await untilTrue(() => Promise.resolve(ownsPort(pid, listen.port)), signal);
      await untilOk(`${localUrl(listen)}/readyz`, signal);
    },
    readyMs: 60_000,
    stopMs: 20_000,
  };
}

/** The release that the node serves to hosts: that of the package, and the packed Node if it is here. */
export function linkReleases(dataDirectory: string, packageDirectory: string): string {
  const releases = join(dataDirectory, "releases");
  const shipped = join(packageDirectory, "releases");
  mkdirSync(releases, { recursive: true, mode: 0o700 });
  const files = [
    ...(existsSync(shipped) ? readdirSync(shipped).map((name) => join(shipped, name)) : []),
    ...filesLike(dataDirectory, "engines/node-*/node-*.gz"),
  ];
  const wanted = new Map(files.map((file) => [basename(file), file]));
  for (const name of readdirSync(releases)) {
    if (!wanted.has(name)) rmSync(join(releases, name), { force: true });
  }
  for (const [name, file] of wanted) {
    // A running node may serve the file: the link is replaced in one step.
    rmSync(join(releases, `${name}.next`), { force: true });
    symlinkSync(file, join(releases, `${name}.next`));
    renameSync(join(releases, `${name}.next`), join(releases, name));
  }
  return releases;
}
