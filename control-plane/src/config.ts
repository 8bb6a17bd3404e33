// Every setting of a node: its environment variable, default and meaning. Read once at start;
// nothing else reads the environment.
import { isIP } from "node:net";
import { isServerUrl } from "@hawser/host-protocol";
import { z } from "zod";

/** "host:port", as in 127.0.0.1:8080 or [::1]:8080. */
const address = z
  .string()
  .regex(/^.+:\d{1,5}$/, "must be host:port, such as 127.0.0.1:8080")
  .transform((text) => {
    const at = text.lastIndexOf(":");
    return { host: text.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(text.slice(at + 1)) };
  })
  .refine(({ port }) => port <= 65535, "must have a port of at most 65535");

const addresses = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean),
  );

const networks = addresses.check((context) => {
  for (const network of context.value) {
    const [address = "", bits = "", ...rest] = network.split("/");
    const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
    if (/^\d{1,3}$/.test(bits) && Number(bits) <= most && rest.length === 0) continue;
    context.issues.push({
      code: "custom",
      input: context.value,
      message: `must be networks such as 10.1.0.0/16; ${network} is none`,
    });
  }
});

const settings = z.object({
  HAWSER_DATABASE_URL: z
    .url("must be an address such as postgres://user@host/database")
    .describe(
      "PostgreSQL, as a login that may switch to hawser_app, hawser_system and hawser_sign_in",
    ),
  HAWSER_MASTER_KEY_FILE: z
    .string()
    .optional()
    .describe("file with the master key: 64 hexadecimal digits"),
  HAWSER_MASTER_KEY_COMMAND: z
    .string()
    .optional()
    .describe("command that prints the master key instead"),
  HAWSER_LISTEN: address.prefault("127.0.0.1:8080").describe("address for callers"),
  HAWSER_METRICS_LISTEN: z
    .string()
    .transform((text) => (text === "off" ? undefined : text))
    .pipe(address.optional())
    .prefault("127.0.0.1:9090")
    .describe("address of /metrics; keep it private. off: serves no metrics"),
  HAWSER_BASE_URL: z
    .url("must be an address such as https://hawser.example")
    .optional()
    .describe(
      "the https:// address callers and hosts use; default http:// and HAWSER_LISTEN, if that is loopback",
    ),
  HAWSER_FORMER_BASE_URLS: addresses.describe(
    "earlier values of HAWSER_BASE_URL, separated by commas: hosts that dial one of them move to the present address",
  ),
  HAWSER_NATS_URLS: addresses.describe(
    "the NATS servers, host:port, separated by commas; without them no host can connect",
  ),
  HAWSER_NATS_WEBSOCKETS: addresses.describe(
    "their private WebSocket addresses, host:port; without them hosts are answered 503",
  ),
  HAWSER_EDGE_FILE: z
    .string()
    .optional()
    .describe('for the command "edge": the file that the command "edge-file" has written'),
  HAWSER_AGENT_PACKAGES: z
    .url({ protocol: /^https?$/, error: "must be an https:// address" })
    .optional()
    .describe("where hosts download the agents' packages from; without it no agent is installed"),
  HAWSER_RELEASES: z
    .string()
    .optional()
    .describe(
      "directory of a release, from which hosts install and update; without it they cannot",
    ),
  HAWSER_HOST_TOKEN_SECONDS: z.coerce
    .number()
    .int()
    .min(10)
    .default(7_200)
    .describe("how long a host token is valid; the list of revoked hosts grows with it"),
  HAWSER_LOG_LEVEL: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("lowest level that is logged"),
  HAWSER_DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(300)
    .default(5)
    .describe("how long a stopping node or edge serves on while /readyz answers 503"),
  HAWSER_LINKS_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .default(250)
    .describe(
      "links that an edge opens per second at most; returning hosts are spread accordingly",
    ),
  HAWSER_RATE_PER_SECOND: z.coerce
    .number()
    .positive()
    .default(200)
    .describe("calls a second each API key may make"),
  HAWSER_RATE_BURST: z.coerce
    .number()
    .min(1)
    .default(400)
    .describe("calls an API key may make at once"),
  HAWSER_STREAMS_PER_KEY: z.coerce
    .number()
    .int()
    .min(1)
    .default(200)
    .describe("streams an API key may have open at once, at each node"),
  HAWSER_STREAMS_PER_ORGANIZATION: z.coerce
    .number()
    .int()
    .min(1)
    .default(1000)
    .describe("streams an organization may have open at once, at each node"),
  HAWSER_WEBHOOK_NETWORKS: networks.describe(
    "private networks that webhooks and identity providers may be in, with any port and http, such as 10.1.0.0/16, separated by commas",
  ),
  HAWSER_EXPOSURE_DOMAIN: z
    .string()
    .regex(
      /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d{1,5})?$/,
      "must be a domain such as exposures.example",
    )
    .optional()
    .describe(
      "domain of exposures, each at a host name below it; use one that serves nothing else. Without it exposures have loopback ports if HAWSER_BASE_URL is loopback, and no address otherwise",
    ),
  HAWSER_EXPOSURE_LISTEN: address
    .prefault("127.0.0.1:8082")
    .describe("address for the proxy that serves HAWSER_EXPOSURE_DOMAIN with TLS"),
  HAWSER_EXPOSURE_PROXIES: networks.describe(
    "networks of that proxy, whose X-Forwarded-For is believed, such as 10.1.0.0/16, separated by commas",
  ),
  HAWSER_NODE_LISTEN: address
    .prefault("127.0.0.1:0")
    .refine(
      ({ host }) => !["0.0.0.0", "::"].includes(host),
      "must be the address at which the other nodes reach this one",
    )
    .describe("address for other nodes, which forward requests of exposures; keep it private"),
  HAWSER_DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(2)
    .default(16)
    .describe("database connections for callers; up to 20 more are for the node's own work"),
  HAWSER_DATABASE_PATIENCE_MS: z.coerce
    .number()
    .int()
    .min(100)
    .default(4000)
    .describe(
      "how long a statement, or the wait for a connection, may take before callers get 503",
    ),
});

export type Config = ReturnType<typeof readConfig>;

export function readConfig(environment: NodeJS.ProcessEnv) {
  const env = parse(settings, environment);
  const { host, port: listenPort } = env.HAWSER_LISTEN;
  const listenUrl = `http://${host.includes(":") ? `[${host}]` : host}:${listenPort}`;
  const baseUrl = (env.HAWSER_BASE_URL ?? listenUrl).replace(/\/$/, "");
  if (!isServerUrl(baseUrl)) {
    throw new ConfigError(
      `HAWSER_BASE_URL: ${baseUrl} is not safe for callers and hosts, which would send their keys and ` +
        "run the install script unprotected. Set the https:// address of the proxy in front of this " +
        "node; http:// is accepted for loopback addresses only.",
    );
  }
  return {
    databaseUrl: env.HAWSER_DATABASE_URL,
    masterKeyFile: env.HAWSER_MASTER_KEY_FILE,
    masterKeyCommand: env.HAWSER_MASTER_KEY_COMMAND,
    listen: env.HAWSER_LISTEN,
    metricsListen: env.HAWSER_METRICS_LISTEN,
    baseUrl,
    formerBaseUrls: env.HAWSER_FORMER_BASE_URLS.map((text) => URL.parse(text)?.origin ?? text),
    natsUrls: env.HAWSER_NATS_URLS,
    natsWebsockets: env.HAWSER_NATS_WEBSOCKETS,
    releases: env.HAWSER_RELEASES,
    agentPackages: env.HAWSER_AGENT_PACKAGES?.replace(/\/+$/, ""),
    hostTokenSeconds: env.HAWSER_HOST_TOKEN_SECONDS,
    logLevel: env.HAWSER_LOG_LEVEL,
    drainMs: env.HAWSER_DRAIN_SECONDS * 1000,
    linksPerSecond: env.HAWSER_LINKS_PER_SECOND,
    rateLimit: { perSecond: env.HAWSER_RATE_PER_SECOND, burst: env.HAWSER_RATE_BURST },
    streams: {
      ofKey: env.HAWSER_STREAMS_PER_KEY,
      ofOrganization: env.HAWSER_STREAMS_PER_ORGANIZATION,
    },
    webhookNetworks: env.HAWSER_WEBHOOK_NETWORKS,
    exposures: {
      door: exposureDoor(env.HAWSER_EXPOSURE_DOMAIN, env.HAWSER_EXPOSURE_LISTEN, baseUrl),
      proxies: env.HAWSER_EXPOSURE_PROXIES,
      nodeListen: env.HAWSER_NODE_LISTEN,
    },
    database: {
      connections: env.HAWSER_DATABASE_CONNECTIONS,
      patienceMs: env.HAWSER_DATABASE_PATIENCE_MS,
    },
  };
}

/** Where exposures are served: below a domain, or at loopback ports of a node that is itself at loopback. */
function exposureDoor(
  domain: string | undefined,
  listen: { host: string; port: number },
  baseUrl: string,
): { domain: string; listen: { host: string; port: number } } | "loopback" | undefined {
  if (domain !== undefined) return { domain, listen };
  return baseUrl.startsWith("http:") ? "loopback" : undefined;
}

/** The settings of a separate edge, which has neither a database nor a master key. */
export type EdgeConfig = ReturnType<typeof readEdgeConfig>;

const edgeSettings = settings
  .pick({
    HAWSER_EDGE_FILE: true,
    HAWSER_LISTEN: true,
    HAWSER_NATS_URLS: true,
    HAWSER_NATS_WEBSOCKETS: true,
    HAWSER_LOG_LEVEL: true,
    HAWSER_DRAIN_SECONDS: true,
    HAWSER_LINKS_PER_SECOND: true,
  })
  .required({ HAWSER_EDGE_FILE: true });

export function readEdgeConfig(environment: NodeJS.ProcessEnv) {
  const env = parse(edgeSettings, environment);
  return {
    edgeFile: env.HAWSER_EDGE_FILE,
    listen: env.HAWSER_LISTEN,
    natsUrls: env.HAWSER_NATS_URLS,
    natsWebsockets: env.HAWSER_NATS_WEBSOCKETS,
    logLevel: env.HAWSER_LOG_LEVEL,
    drainMs: env.HAWSER_DRAIN_SECONDS * 1000,
    linksPerSecond: env.HAWSER_LINKS_PER_SECOND,
  };
}

function parse<Schema extends z.ZodObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
): z.output<Schema> {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => {
    const name = issue.path.join(".");
    return `${name}: ${environment[name] === undefined ? "is required" : problemOf(issue)}`;
  });
  throw new ConfigError(`Settings are missing or wrong.\n  ${problems.join("\n  ")}`);
}

/** zod's own words are about types of a program; an operator has written a text. */
function problemOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" ? "must be a whole number" : `must be a ${issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "too_small":
      return issue.inclusive ? `must be at least ${issue.minimum}` : "must be above 0";
    case "too_big":
      return `must be at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** A mistake of the operator, printed without a stack trace. */
export class ConfigError extends Error {}

/** Every setting with its default and meaning, for `--help`. */
export function describeSettings(): string {
  return Object.entries(settings.shape)
    .map(([name, schema]) => {
      const standard = schema.safeParse(undefined).success ? defaultOf(schema) : "required";
      return `  ${name}${standard === "" ? "" : ` (${standard})`}\n      ${schema.description ?? ""}`;
    })
    .join("\n");
}

function defaultOf(schema: z.ZodType): string {
  const { def } = schema as unknown as { def: { defaultValue?: string | number } };
  return def.defaultValue === undefined || def.defaultValue === ""
    ? ""
    : `default ${def.defaultValue}`;
}
