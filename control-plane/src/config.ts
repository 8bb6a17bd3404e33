// Every setting of a node: its environment variable, default and meaning. Read once at start;
// nothing else reads the environment.
import { isServerUrl } from "@hawser/host-protocol";
import { z } from "zod";

const port = z.coerce.number().int().min(0).max(65535);

/** "host:port", as in 127.0.0.1:8080 or [::1]:8080. */
const address = z
  .string()
  .regex(/^.+:\d+$/, "must be host:port")
  .transform((text) => {
    const at = text.lastIndexOf(":");
    return {
      host: text.slice(0, at).replace(/^\[|\]$/g, ""),
      port: port.parse(text.slice(at + 1)),
    };
  });

const addresses = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean),
  );

const settings = z.object({
  HAWSER_DATABASE_URL: z
    .url()
    .describe("PostgreSQL, as a login that may switch to hawser_app and hawser_system"),
  HAWSER_MASTER_KEY_FILE: z
    .string()
    .optional()
    .describe("file with the master key: 64 hexadecimal digits"),
  HAWSER_MASTER_KEY_COMMAND: z
    .string()
    .optional()
    .describe("command that prints the master key instead"),
  HAWSER_LISTEN: address.prefault("127.0.0.1:8080").describe("where callers are served"),
  HAWSER_METRICS_LISTEN: address
    .prefault("127.0.0.1:9090")
    .describe("where /metrics is served; keep it private"),
  HAWSER_BASE_URL: z
    .url()
    .optional()
    .describe(
      "the https:// address callers and hosts use; default http:// and HAWSER_LISTEN, if that is loopback",
    ),
  HAWSER_NATS_URLS: addresses.describe(
    "the NATS servers, host:port, separated by commas; none: no host can connect",
  ),
  HAWSER_NATS_WEBSOCKETS: addresses.describe(
    "their private WebSocket addresses, to which the edge pipes hosts",
  ),
  HAWSER_EDGE_FILE: z
    .string()
    .optional()
    .describe('for the command "edge": the file that the command "edge-file" has written'),
  HAWSER_AGENT_PACKAGES: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("where hosts download the agents' packages from; none: no agent is installed"),
  HAWSER_RELEASES: z
    .string()
    .optional()
    .describe("directory of a release, from which hosts install and update; none: they cannot"),
  HAWSER_HOST_TOKEN_SECONDS: z.coerce
    .number()
    .int()
    .min(10)
    .default(86_400)
    .describe("how long a host's credential lives"),
  HAWSER_LOG_LEVEL: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("least level logged"),
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
  HAWSER_DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(2)
    .default(16)
    .describe("database connections for callers"),
  HAWSER_DATABASE_PATIENCE_MS: z.coerce
    .number()
    .int()
    .min(100)
    .default(4000)
    .describe("how long the database may take to answer"),
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
    natsUrls: env.HAWSER_NATS_URLS,
    natsWebsockets: env.HAWSER_NATS_WEBSOCKETS,
    releases: env.HAWSER_RELEASES,
    agentPackages: env.HAWSER_AGENT_PACKAGES?.replace(/\/+$/, ""),
    hostTokenSeconds: env.HAWSER_HOST_TOKEN_SECONDS,
    logLevel: env.HAWSER_LOG_LEVEL,
    rateLimit: { perSecond: env.HAWSER_RATE_PER_SECOND, burst: env.HAWSER_RATE_BURST },
    streams: {
      ofKey: env.HAWSER_STREAMS_PER_KEY,
      ofOrganization: env.HAWSER_STREAMS_PER_ORGANIZATION,
    },
    database: {
      connections: env.HAWSER_DATABASE_CONNECTIONS,
      patienceMs: env.HAWSER_DATABASE_PATIENCE_MS,
    },
  };
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
  };
}

function parse<Schema extends z.ZodObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
): z.output<Schema> {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigError(`Settings are missing or wrong.\n  ${problems.join("\n  ")}`);
}

/** A mistake of the operator, printed without a stack trace. */
export class ConfigError extends Error {}

/** Every setting with its meaning, for `--help`. */
export function describeSettings(): string {
  return Object.entries(settings.shape)
    .map(([name, schema]) => `  ${name.padEnd(28)} ${schema.description ?? ""}`)
    .join("\n");
}
