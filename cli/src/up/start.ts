// The order in which `hawser up` starts everything, and how it stops: host, node, nats-server, PostgreSQL.
import { setTimeout as pause } from "node:timers/promises";
import { createClient, Refused, type Client } from "@hawser/client";
import { settleData } from "../backup/data-version.ts";
import { commandFor } from "../command-for.ts";
import { CommandFailed } from "../command-failed.ts";
import { findNats } from "../engines/find-nats.ts";
import { findNode } from "../engines/find-node.ts";
import { fetchFromOwn } from "../listener.ts";
import { localUrl } from "../local-url.ts";
import { readSettings, writeSettings, type Settings } from "../settings.ts";
import { findAgentPackages, type AgentPackages } from "./agent-packages.ts";
import { announce, describeAgents } from "./announce.ts";
import { askRoots } from "./choose-roots.ts";
import {
  explainFiles,
  isDiskFull,
  openDataDirectory,
  refuseFullDisk,
  refuseRoot,
} from "./data-directory.ts";
import { awaitFirstAgent } from "./first-agent.ts";
import { hostPart, isPaired, pairHost, pairedHost, untilOnline } from "./host.ts";
import { awaitLeftovers } from "./leftovers.ts";
import { holdData } from "./lock.ts";
import { limitLogs } from "./log-size.ts";
import { fabricOf, natsAddresses, natsPart } from "./nats.ts";
import { linkReleases, nodePart } from "./node.ts";
import { applyOptions, type UpOptions } from "./options.ts";
import { packageDirectory, packageVersion } from "./package-directory.ts";
import { placeHost, placedVersion } from "./place-host.ts";
import { choosePorts, parseListen, type Ports } from "./ports.ts";
import { openProgress, type Progress } from "./progress.ts";
import { identify, keepRunState, writeRunState, type RunState } from "./run-state.ts";
import { keyFileOf, readKey, setUpService } from "./set-up.ts";
import { linkOfFirstOwner } from "./sign-in-link.ts";
import { onSignals } from "./signals.ts";
import { startDatabase, upgradeDatabase } from "./start-database.ts";
import { superviseParts, type Supervisor } from "./supervise.ts";

interface Start {
  data: string;
  pack: string;
  version: string;
  options: UpOptions;
  progress: Progress;
  supervisor: Supervisor;
  settings: Settings & { ports: Ports };
  agentPackages: Promise<AgentPackages | undefined>;
  stopped: AbortSignal;
}

/** Starts everything, and ends the process after a signal. Throws CommandFailed if it cannot start. */
export async function startAll(data: string, options: UpOptions): Promise<void> {
  refuseRoot();
  const pack = packageDirectory();
  openDataDirectory(data);
  await holdData(data).catch((error: unknown) => {
    throw explainFiles(error, data);
  });
  settleData(data);
  let former = applyOptions(readSettings(data), options);
  refuseFullDisk(data, former.setUpFor === undefined);
  const progress = openProgress(data, options.json ? process.stderr : process.stdout);
  using _logs = limitLogs(data);
  const state: RunState = {
    ...identify(process.pid),
    since: new Date().toISOString(),
    isReady: false,
    parts: [],
  };
  const note = (change: Partial<RunState>) =>
    noteState(data, Object.assign(state, change), progress);
  using _state = keepRunState(data, () => note({}));
  const ending = Promise.withResolvers<CommandFailed | undefined>();
  const stopped = new AbortController();
  const supervisor = superviseParts({
    dataDirectory: data,
    say: progress.say,
    onChange: (parts) => note({ parts }),
    onGivenUp: (failure) => ending.resolve(failure),
  });
  onSignals(() => {
    progress.say("Stopping …");
    ending.resolve(undefined);
  });
  void ending.promise.then(() => stopped.abort());

  const starting = (async () => {
    await progress.during("Waiting for processes of an earlier start to end", awaitLeftovers(data));
    note({});
    if (options.upgradeDatabase) {
      await upgradeDatabase(data, pack, progress);
      former = applyOptions(readSettings(data), options);
    }
    const settings = await choosePortsOf(data, former, options);
    const version = packageVersion(pack);
    const agentPackages = findAgentPackages();
    const start: Start = {
      data,
      pack,
      version,
      options,
      progress,
      supervisor,
      settings,
      agentPackages,
      stopped: stopped.signal,
    };
    const { instanceId, client } = await startParts(start);
    if (stopped.signal.aborted) return;
    note({ isReady: true, url: settings.url! });
    const { say } = progress;
    if (client) await awaitFirstAgent({ data, client, instanceId, say, stopped: stopped.signal });
    const directory = client && (await firstRoot(client, instanceId));
    if (stopped.signal.aborted) return;
    const hasTerminal = options.json !== true && process.stdout.isTTY;
    const signInLink = hasTerminal ? await linkOfFirstOwner({ data, pack, say }) : undefined;
    const json = options.json === true;
    announce({ data, settings, instanceId, directory, signInLink, json, say });
  })().catch((error: unknown) => {
    if (stopped.signal.aborted) return;
    const explained = explainFiles(error, data);
    // A fault of the program: its stack is needed.
    if (!(explained instanceof CommandFailed)) {
      String((explained as Error).stack)
        .split("\n")
        .forEach(progress.say);
    }
    ending.resolve(
      explained instanceof CommandFailed
        ? explained
        : new CommandFailed(
            "hawser up failed because of a fault of its own. Everything is stopped.",
          ),
    );
  });
  const failure = await ending.promise;
  await Promise.race([starting, pause(5_000)]);
  await stopAll(data, supervisor, progress);
  if (!failure) process.exit(0);
  const isFull = isDiskFull(data) && !/disk/.test(failure.message);
  const hint = isFull ? ` The disk of ${data} is full: make room first.` : "";
  progress.say(`${failure.message}${hint}`);
  note({ isReady: false, failure: `${failure.message}${hint}` });
  process.exit(failure.exitCode);
}

async function choosePortsOf(
  data: string,
  former: Settings,
  options: UpOptions,
): Promise<Start["settings"]> {
  const host = former.listenHost ?? "127.0.0.1";
  const named = options.listen === undefined ? undefined : parseListen(options.listen).port;
  // Port 0 is any free one, and then always the same.
  const asked = named === 0 && former.ports ? undefined : named;
  const ports = await choosePorts({ known: former.ports, asked, host });
  const url = former.publicUrl ?? localUrl({ host, port: ports.http });
  const settings = { ...former, ports, url };
  // Engines of the operator are remembered once they have worked.
  const { postgresUrl: _url, nats: _nats, ...others } = settings;
  const { postgresUrl, nats } = readSettings(data);
  writeSettings(data, { ...others, ...(postgresUrl && { postgresUrl }), ...(nats && { nats }) });
  return settings;
}

/** The instance of this machine, and the client if agents can be installed on it now. */
type Started = { instanceId: string; client: Client } | { instanceId?: string; client?: undefined };

async function startParts(start: Start): Promise<Started> {
  const { data, pack, version, options, progress, supervisor, settings, stopped } = start;
  const database = await startDatabase(start);
  const company = settings.nats;
  const addresses = company
    ? {
        listen: company.url,
        websocket: company.websocket,
        monitor: `${company.url.replace(/:\d+$/, "")}:8222`,
      }
    : natsAddresses(settings.ports);
  const finding = company
    ? undefined
    : findNats({ dataDirectory: data, packageDirectory: pack, onProgress: progress.say });
  finding?.catch(() => {});
  const { applied } = await progress.during(
    "Setting up the database, the keys and the organization",
    supervisor.repeat(() =>
      setUpService({ dataDirectory: data, packageDirectory: pack, settings, database, addresses }),
    ),
  );
  if (applied.length > 0) progress.say(`The database is set up (${applied.length} migrations).`);
  if (finding) {
    const nats = await finding;
    await progress.during(
      "Starting nats-server",
      supervisor.start(natsPart(data, nats, settings.ports)),
    );
    progress.say(`nats-server ${nats.version} runs.`);
  } else {
    progress.say(
      `NATS is expected at ${company!.url}. Its operator has to start it with both files of ${fabricOf(data)}: nats-server.conf, whose addresses and directories may be changed, and nats-keys.conf beside it. A NATS with other keys refuses this service.`,
    );
  }
  const releases = linkReleases(data, pack);
  const listen = { host: settings.listenHost ?? "127.0.0.1", port: settings.ports.http };
  const packages = await start.agentPackages;
  await progress.during(
    "Starting the node",
    supervisor.start(
      nodePart({
        dataDirectory: data,
        packageDirectory: pack,
        version,
        databaseUrl: database.nodeUrl,
        listen,
        url: settings.url!,
        nats: { url: addresses.listen, websocket: addresses.websocket },
        agentPackages: packages?.url,
      }),
    ),
  );
  const url = localUrl(listen);
  settings.key = readKey(data) ?? settings.key!;
  const client = createClient({ url, key: settings.key, fetch: fetchFromOwn });
  const isKeyValid = await checkKey(client);
  writeSettings(data, settings);
  progress.say(`Hawser answers at ${settings.url}.`);
  if (!isKeyValid) {
    progress.say(
      `The key in ${keyFileOf(data)} was revoked. Write another key of an owner into that file, for the commands of hawser on this machine.`,
    );
  }
  if (!options.host || (!isKeyValid && !isPaired(data))) return {};
  progress.say(
    packages
      ? `Agents are installed from ${packages.url} (${packages.origin}).`
      : "Agents cannot be installed by Hawser, because npm is not on this machine. Set HAWSER_AGENT_PACKAGES to the address of a registry. Agents that are installed already are used.",
  );
  const isAsking =
    !isPaired(data) &&
    !options.yes &&
    !options.json &&
    options.root.length === 0 &&
    process.stdin.isTTY &&
    process.stdout.isTTY;
  const roots = isAsking ? await askRoots() : options.root;
  const daemonVersion = placedVersion(data, releases) ?? (await placeDaemon(start, releases));
  const pairing = isKeyValid
    ? supervisor.repeat(() => pairHost({ dataDirectory: data, client, url, roots }))
    : Promise.resolve(pairedHost(data, url));
  const instanceId = await progress.during("Making this machine a host", pairing);
  if (settings.instanceId !== instanceId) {
    settings.instanceId = instanceId;
    writeSettings(data, settings);
  }
  await supervisor.start(hostPart(data, daemonVersion));
  const online = untilOnline(
    { client: isKeyValid ? client : undefined, dataDirectory: data },
    instanceId,
    stopped,
  );
  if (await progress.during("Waiting until this machine is online", online)) {
    progress.say(`This machine is a host: ${instanceId}.`);
    if (isKeyValid && packages) return { instanceId, client };
  } else if (!stopped.aborted) {
    progress.say(
      `This machine's daemon is not online. It keeps trying. To see why: ${commandFor(data, "logs host")}`,
    );
  }
  return { instanceId };
}

/** undefined if this machine lets agents work nowhere, or does not say where. */
async function firstRoot(client: Client, instanceId: string): Promise<string | undefined> {
  try {
    const { roots } = await client.list_directories({ instanceId });
    return roots[0]?.path;
  } catch {
    // The sentences that use it are left out.
    return undefined;
  }
}

/** False if the service does not accept the key. */
async function checkKey(client: Client): Promise<boolean> {
  try {
    await client.list_instances();
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return false;
    throw error;
  }
}

async function placeDaemon({ data, pack, progress }: Start, releases: string): Promise<string> {
  const { packed } = await findNode({
    dataDirectory: data,
    packageDirectory: pack,
    onProgress: progress.say,
  });
  linkReleases(data, pack);
  return progress.during("Placing the daemon of this machine", placeHost(data, releases, packed));
}

async function stopAll(data: string, supervisor: Supervisor, progress: Progress): Promise<void> {
  const startedAt = performance.now();
  await progress.during("Waiting for the parts to end", supervisor.stop());
  const agents = describeAgents(data);
  progress.say(`Stopped in ${Math.round(performance.now() - startedAt)} ms.${agents}`);
}

/** On a full disk the parts run nevertheless; other commands then know less about them. */
function noteState(data: string, state: RunState, progress: Progress): void {
  try {
    writeRunState(data, state);
  } catch (error) {
    progress.say(`The state of the parts could not be recorded: ${(error as Error).message}`);
  }
}
