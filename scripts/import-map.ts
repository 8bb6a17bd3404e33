// Reads every import of every workspace and compares it with the import map: who may know whom.
// Each rule carries its reason and the way out; a violation is one line, file:line.
import { globSync, readFileSync } from "node:fs";
import { join, normalize, posix } from "node:path";
import { findCircles } from "./import-map-circles.ts";
import { importsOf, type Import } from "./imports-of.ts";

export interface SourceFile {
  /** From the repository's root, such as `contract/src/action.ts`. */
  path: string;
  text: string;
}

interface Row {
  /** Workspaces it may import. */
  workspaces: readonly string[] | "all";
  /** npm packages it may import; "listed" leaves it to its package.json, which knip checks. */
  packages: readonly string[] | "listed";
  node: boolean;
  /** Files that do not run where the others do, as tests: Node's modules and testkit are theirs too. */
  besides?: RegExp;
  reason: string;
}

/** The map itself. */
export const map: Record<string, Row> = {
  contract: {
    workspaces: [],
    packages: ["zod"],
    node: false,
    reason: "the contract is data that browsers and hosts load too, so it imports only zod",
  },
  client: {
    workspaces: [],
    packages: [],
    node: false,
    reason:
      "the client is published and runs in browsers, so its types are generated from the contract and it imports no package",
  },
  cli: {
    workspaces: ["client", "daemon", "host-protocol"],
    packages: "listed",
    node: true,
    reason:
      "the command line calls the service through the client, starts the control plane as a process, and reads packages as the daemon does",
  },
  examples: {
    workspaces: ["client"],
    packages: [],
    node: true,
    reason: "examples show what a user of the client writes",
  },
  "host-protocol": {
    workspaces: ["contract"],
    packages: ["zod"],
    node: true,
    reason: "host-protocol defines the messages between both sides, so it imports neither of them",
  },
  web: {
    workspaces: ["client", "contract"],
    packages: "listed",
    node: false,
    besides: /^web\/(?:tests\/.+|[\w.-]+)\.ts$/,
    reason:
      "the dashboard runs in browsers, and takes only types from the client and the contract, and the sealing of secrets",
  },
  daemon: {
    workspaces: ["contract", "host-protocol"],
    packages: "listed",
    node: true,
    reason: "the daemon runs on hosts and reaches the control plane only over the network",
  },
  "control-plane": {
    workspaces: ["contract", "host-protocol"],
    packages: "listed",
    node: true,
    reason: "the control plane runs in production, so it imports no test support",
  },
  deploy: {
    workspaces: ["daemon", "host-protocol", "cli", "control-plane"],
    packages: "listed",
    node: true,
    reason: "deploy builds what users install, and needs no test support",
  },
  testkit: {
    workspaces: "all",
    packages: "listed",
    node: true,
    reason: "testkit starts the real parts, so it may import all of them",
  },
  acceptance: {
    workspaces: ["testkit", "contract", "client"],
    packages: "listed",
    node: true,
    reason: "acceptance tests the product from outside, through its public interfaces",
  },
  bench: {
    workspaces: ["testkit", "contract", "control-plane", "host-protocol", "daemon"],
    packages: ["pg", "@nats-io/nats-core", "@nats-io/transport-node", "ws"],
    node: true,
    reason: "bench measures public paths beside the bare engine, which runs the same statements",
  },
  scripts: {
    workspaces: "all",
    packages: "listed",
    node: true,
    reason: "scripts may import anything",
  },
};

/**
 * The folders of control-plane/src, from the lowest to the highest. A folder imports only folders that
 * stand before it. Files directly below src/ that build everything stand above all folders.
 */
const layers = [
  "postgres",
  "secrets",
  "events",
  "audit",
  "dispatch",
  "leases",
  "blobs",
  "files",
  "fabric",
  "edge",
  "transports",
  "pages",
  "access",
  "hosts",
  "agents",
  "identities",
  "sessions",
  "requests",
  "session-log",
  "forks",
  "schedules",
  "triggers",
  "continuations",
  "webhooks",
  "sign-in",
  "exposures",
  "instances",
  "model-guide",
];
const compositionRoot = [
  "doors",
  "main",
  "node",
  "edge-node",
  "host-link",
  "product",
  "rotate",
  "rotate-nats-keys",
  "set-up",
];

/** Every violation of the map in these files, one line each, in the order of the files. */
export function findViolations(files: SourceFile[]): string[] {
  const resources = new Set(
    files.flatMap(({ path }) => /^contract\/src\/actions\/([a-z-]+)\.ts$/.exec(path)?.[1] ?? []),
  );
  const circles = findCircles(files).map(
    (circle) =>
      `${circle[0]}:1 is in a circle of imports: ${[...circle, circle[0]].join(" -> ")}. Files that import each other can only be understood together. Fix: move what two of them share, often a type, to a file of its own.`,
  );
  const violations = files.flatMap((file) => {
    const complaints = importsOf(file.text).flatMap((found) => {
      const complaint = objectTo(file.path, found, resources);
      return complaint
        ? [`${file.path}:${found.line} imports "${found.specifier}": ${complaint}`]
        : [];
    });
    const first = /^(?:\/\/|\/\*|#!)/.test(file.text);
    if (first || file.path.endsWith(".test.ts")) return complaints;
    return [
      `${file.path}:1 has no opening comment: a file says first what lives in it. Fix: begin it with a line or two of comment.`,
      ...complaints,
    ];
  });
  return [...violations, ...circles];
}

const isTest = (path: string) =>
  path.endsWith(".test.ts") || (map[path.split("/", 1)[0]!]?.besides?.test(path) ?? false);

function objectTo(path: string, found: Import, resources: Set<string>): string | undefined {
  const own = path.split("/", 1)[0]!;
  const row = map[own];
  if (!row) return `${own} is not in the import map. Fix: give it a row in scripts/import-map.ts.`;
  const { specifier } = found;
  const target = specifier.startsWith(".")
    ? posix.join(posix.dirname(path), specifier)
    : specifier.replace(/^@hawser\//, "");
  const folder = target.split("/", 1)[0]!;

  if (specifier.startsWith("node:")) {
    if (row.node || isTest(path)) return undefined;
    return `${row.reason}. Fix: do without Node's modules, or move the code to who calls it.`;
  }
  if (specifier.startsWith(".") || specifier.startsWith("@hawser/")) {
    if (folder !== own) {
      const allowed =
        row.workspaces === "all" ||
        row.workspaces.includes(folder) ||
        (isTest(path) && folder === "testkit");
      if (!allowed) return `${row.reason}. Fix: move the code, or pass the value in from outside.`;
    }
    if (specifier.startsWith(".") && folder !== own && own !== "scripts") {
      return `another workspace is reached by its package name, so that its exports say what is public. Fix: import @hawser/${folder}.`;
    }
  } else if (row.packages !== "listed" && !row.packages.includes(packageOf(specifier))) {
    return `${row.reason}. Fix: do without the package, or argue for it in scripts/import-map.ts.`;
  }
  return own === "control-plane" ? objectInControlPlane(path, found, target, resources) : undefined;
}

function objectInControlPlane(
  path: string,
  { specifier, names }: Import,
  target: string,
  resources: Set<string>,
): string | undefined {
  const from = folderOf(path);
  const to = specifier.startsWith(".") ? folderOf(target) : undefined;
  if (/^pg(?:[-/]|$)/.test(specifier) && from !== "postgres") {
    return "only control-plane/src/postgres/ speaks to the SQL driver, so that roles and transactions are decided in one place. Fix: take a database or transaction from there.";
  }
  if (to !== undefined && from !== undefined && to !== from && target.endsWith("/handlers.ts")) {
    return "handlers say what an action does and belong to the dispatcher; only main.ts collects them. Fix: use the other folder's store.ts or a function named for the job.";
  }
  const upwards =
    from === undefined || isTest(path) ? undefined : objectToLayer(from, to, specifier, target);
  if (from !== "dispatch" && from !== "transports") return upwards;
  if (to !== undefined && resources.has(to)) {
    return `${from} serves any product's registry and knows no resource. Fix: take it as a parameter that main.ts fills.`;
  }
  // `sessionActions` is a list of actions as much as `registry` is; `Actions` is only a type.
  const list = names.find((name) => /^(?:registry|actionNames|[a-z]\w*Actions|\*)$/.test(name));
  if (specifier === "@hawser/contract" && list !== undefined) {
    return `${from} serves any product's registry, so it must not take "${list}" from the contract. Fix: take the registry as a parameter that main.ts fills.`;
  }
  return upwards;
}

function objectToLayer(
  from: string,
  to: string | undefined,
  specifier: string,
  target: string,
): string | undefined {
  if (!layers.includes(from)) {
    return `${from} has no place in the order of the control plane's folders. Fix: add it to layers in scripts/import-map.ts, above what it imports.`;
  }
  if (!specifier.startsWith(".")) return undefined;
  const root = /^control-plane\/src\/([^/]+)\.ts$/.exec(target)?.[1];
  const isUpwards =
    to === undefined
      ? root !== undefined && compositionRoot.includes(root)
      : layers.indexOf(to) > layers.indexOf(from);
  if (!isUpwards) return undefined;
  return `${from} stands below ${to ?? `${root}.ts`} in the order of the control plane's folders, which import each other one way so that each can be read without those above it. Fix: move the code to the folder that needs both, or pass the function in from product.ts or host-link.ts.`;
}

/** The folder below control-plane/src a file lies in; undefined for main.ts and its neighbours. */
function folderOf(path: string): string | undefined {
  return /^control-plane\/src\/([^/]+)\//.exec(path)?.[1];
}

/** `zod/v4` belongs to zod, `@hono/node-server/x` to @hono/node-server. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

function readSources(): SourceFile[] {
  const root = normalize(join(import.meta.dirname, ".."));
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    workspaces: string[];
  };
  const globs = manifest.workspaces.map((workspace) => `${workspace}/**/*.{ts,tsx,mts,js,mjs}`);
  return globSync(globs, {
    cwd: root,
    exclude: ["**/node_modules/**", "client/dist/**", "control-plane/pages/**"],
  })
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

if (import.meta.main) {
  const violations = findViolations(readSources());
  for (const violation of violations) console.error(violation);
  if (violations.length > 0) process.exitCode = 1;
}
