// A worker: the work of a separated host that one Unix user does. It has no link and no key of the host. The front
// passes commands to it and reports for it, over its standard input and output. It ends when its input ends.
import { uptime } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { SealingKey } from "@hawser/contract";
import type { Report } from "@hawser/host-protocol";
import { createCodeHosting } from "../code-hosting/code-hosting.ts";
import { createDirectories } from "../directories/directories.ts";
import { createDirectoryFacts } from "../directories/host-facts.ts";
import { createGit } from "../git/git.ts";
import type { Sealing } from "../identities/sealing.ts";
import { findInstalled } from "../installs/current.ts";
import { JournalFull, JournalInUse } from "../journal/journal.ts";
import { backOff } from "../link/back-off.ts";
import type { ServerClock } from "../link/server-clock.ts";
import { describe, type Log } from "../log.ts";
import { createOperations } from "../operations.ts";
import { createPolicy, type Policy } from "../policy/policy.ts";
import { removeTreeNow } from "../remove-tree.ts";
import { replaceFile } from "../state/replace-file.ts";
import { readJson, type State } from "../state/state.ts";
import { openWork, type Uplink, type Work, type WorkOptions } from "../work.ts";
import { createPipeLane } from "./pipe-lane.ts";
import { openPipe } from "./pipe.ts";
import type { Greeting, LinkState } from "./workers.ts";

export interface ServeWorkOptions extends Required<Pick<WorkOptions, "drivers" | "accounts">> {
  state: State;
  log: Log;
}

/** How long to wait for the journal of a worker that is ending. */
const journalMs = 20_000;
const retry = { firstMs: 500, longestMs: 15_000 };
/** The worker trusts the front. */
const unlimited = { calls: Infinity, bytes: Infinity, line: Infinity };

/** Resolves when the worker has ended. */
export async function serveWork({
  state,
  log,
  drivers,
  accounts,
}: ServeWorkOptions): Promise<void> {
  const codeHosting = createCodeHosting();
  let link: LinkState = { linkedSince: null, commandKeys: [], time: null };
  let work: Work | undefined;
  let readFacts = async (): Promise<object> => ({});

  const pipe = openPipe(
    process.stdin,
    process.stdout,
    {
      async begin(greeting: Greeting) {
        link = greeting;
        work = await open(greeting);
        // Not awaited: the link may be lost, and the worker runs without it.
        void introduce();
      },
      async state(changed: LinkState) {
        const isNew = link.linkedSince !== changed.linkedSince;
        link = changed;
        if (isNew) await introduce();
      },
      command: ({ text }: { text: string }) => work!.answer(Buffer.from(text)),
      facts: () => readFacts(),
      kinds: () => work!.linkedKinds(),
      async close(ending: { endsAgents: boolean }) {
        await work?.close(ending);
      },
    },
    log,
    unlimited,
  );

  /** Entries are sent only of sessions that a hello has named since the link is there. */
  async function introduce(): Promise<void> {
    const since = link.linkedSince;
    const opened = work!;
    for (let failures = 1; isLinkedSince(since); failures++) {
      try {
        const { log: entries } = opened.journal;
        const named = entries.positions();
        if (named.length > 0) entries.welcome(await uplink.introduce(named), named);
        return opened.online();
      } catch (error) {
        log.warn("the sessions were not introduced", { error: describe(error) });
        await wait(backOff(failures, retry));
      }
    }
  }

  const isLinkedSince = (since: string | null) =>
    since !== null && since === link.linkedSince && !pipe.isClosed();

  const uplink: Uplink = {
    // A worker asks for nothing else.
    ask: async (_name, body) =>
      (await pipe.call("report", { sessions: (body as Report).sessions })) as never,
    introduce: async (sessions) => (await pipe.call("introduce", { sessions })) as never,
    publish: (sessionId, text) => pipe.send("publish", { sessionId, text }),
    // Without the front there is no link: what fails now is tried again later.
    linkedSince: () => (pipe.isClosed() ? undefined : (link.linkedSince ?? undefined)),
    factsChanged: () => {},
    // The front knows it too.
    forget: () => {},
  };

  const clock: ServerClock = {
    now: () => (link.time ? link.time.now + uptime() * 1000 - link.time.uptimeMs : Date.now()),
    learn: () => 0,
    isKnown: () => link.time !== null,
  };

  async function open({ instanceId, hostKey, bootId, ...greeting }: Greeting): Promise<Work> {
    removeFormerHomes(state, hostKey);
    const read = createPolicy(greeting.policyPath, () => pipe.send("facts_changed", {})).read;
    // Nobody else's agents run as this user, so its owner need not accept shared logins.
    const policy = (): Policy => ({ ...read(), sharedLogins: !greeting.isOwn });
    const operations = createOperations(
      () => pipe.send("operations", { operations: operations.list() }),
      clock.now,
    );
    const ofDirectories = createDirectoryFacts(policy, createDirectories(policy), createGit());
    readFacts = async () => ({ ...(await ofDirectories()), ...(await codeHosting.readFacts()) });
    const options: WorkOptions = {
      state,
      instanceId,
      serverUrl: greeting.serverUrl,
      clock,
      uplink,
      lane: createPipeLane(pipe),
      policy,
      operations,
      codeHosting,
      sealing,
      findAgent: (kind) => findInstalled(greeting.agentsDirectory, kind),
      clonesRepositories: !greeting.isOwn,
      journal: { id: greeting.journalId },
      ...(greeting.isOwn ? { drivers } : { accounts }),
      commands: {
        hostKey,
        bootId,
        commandKeys: () => link.commandKeys,
        installs: undefined,
        refreshFacts: () => Promise.reject(atFront()),
        updates: undefined,
        forgetCredentials: () => {},
        renewToken: () => {},
        pinCommandKeys: () => {
          throw atFront();
        },
      },
      log,
    };
    const startedAt = performance.now();
    for (;;) {
      try {
        return openWork(options);
      } catch (error) {
        const mayWait = error instanceof JournalFull || error instanceof JournalInUse;
        if (!mayWait || performance.now() - startedAt > journalMs) throw error;
        await wait(50);
      }
    }
  }

  const sealing: Sealing = {
    publicKey: async () => (await pipe.call("sealing_key", {})) as SealingKey,
    open: async (wanted) => (await pipe.call("unseal", wanted)) as string,
    remove: () => {},
  };

  await pipe.closed;
  log.info("the worker stops");
  await work?.close();
}

/** Each pairing gives the host another key. It must not continue with the logins of a former one. */
function removeFormerHomes(state: State, hostKey: string): void {
  const file = join(state.directory, "host-key.json");
  if (readJson(file)?.["hostKey"] === hostKey) return;
  removeTreeNow(state.homesDirectory);
  replaceFile(file, { hostKey });
}

const atFront = () => new Error("The front of this host does this.");
