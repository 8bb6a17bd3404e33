// A host whose agents run as Unix users of their own: one for the host's own logins, and one for each person with
// an account. Everything is real: the users, sudo, the installer and the agents.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@hawser/testkit/free-port.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { addMember, firstKeys, sealedFor } from "../account-steps.ts";
import { assertEnded, through } from "../exposure-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  linkModel,
  runShell,
  secretOf,
  separatedKinds,
  startIn,
  turnOf,
  useSeparatedHost,
} from "../separated-steps.ts";
import { scripted } from "../session-steps.ts";

useWorld({ agents: ["claude_code", "codex"], nats: 1, releases: true });

const open = useSeparatedHost();

const parentOf = (pid: number) =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);

scenario(
  "N1: each person's agents run as a Unix user of their own, and read nothing of another one",
  [],
  async (context) => {
    const current = await open(context);
    const { host, ada, bo } = current;
    const { instanceId, name } = host;
    for (const person of [ada, bo]) {
      for (const kind of separatedKinds) await linkModel(context, current, person, kind);
    }
    const listed = await ada.list_agent_identities({ instanceId });
    assert.equal(listed.separated, true);
    assert.deepEqual(listed.identities.map(({ kind }) => kind).sort(), ["claude_code", "codex"]);
    for (const kind of separatedKinds) {
      for (const [person, user] of [
        [ada, `${name}-1`],
        [bo, `${name}-2`],
      ] as const) {
        const { sessionId, accountOf, directory } = await startIn(current, person, kind);
        const { user: self } = await person.whoami({});
        assert.equal(accountOf!.userId, self!.userId);
        assert.ok(directory.startsWith(host.homeOf(user)), directory);
        assert.equal(
          await turnOf(person, sessionId, scripted("hello", { text: "Hi." })),
          "completed",
        );
        const program = kind === "codex" ? "/codex" : "/claude";
        assert.ok(
          host.processesOf(user).some(({ command }) => command.includes(program)),
          user,
        );
      }
    }
    for (const user of [name, host.own]) {
      const agents = host.processesOf(user).filter(({ command }) => /codex|claude/.test(command));
      assert.deepEqual(agents, [], user);
    }
    // sudo becomes the worker, so that the front can end it by its pid.
    for (const user of [host.own, `${name}-1`, `${name}-2`]) {
      const [worker, ...others] = host.workersOf(user);
      assert.deepEqual([parentOf(worker!), others], [host.status().pid, []], user);
    }
  },
);

scenario(
  "N1: a command of one person's agent reads no home, process, log or journal of another, and cannot become them",
  [],
  async (context) => {
    const current = await open(context);
    const { host, ada, bo } = current;
    const [first, second] = [`${host.name}-1`, `${host.name}-2`];
    const { sessionId } = await startIn(current, ada, "claude_code");
    const other = await startIn(current, bo, "claude_code");
    assert.equal(
      await turnOf(bo, other.sessionId, scripted("hello", { text: "Hi." })),
      "completed",
    );
    const run1 = async (command: string) => (await runShell(ada, sessionId, command)).output;

    assert.equal((await run1("id -un")).trim(), first);
    const homes = [
      host.homeOf(second),
      host.homeOf(host.own),
      `${host.directory}-users/${host.own}`,
    ];
    for (const place of homes) {
      assert.match(await run1(`ls '${place}' 2>&1; true`), /Permission denied/, place);
      assert.match(await run1(`ls '${place}/.hawser' 2>&1; true`), /Permission denied/, place);
    }
    assert.match(await run1(`ls '${other.directory}' 2>&1; true`), /Permission denied/);
    // The front's directory has programs and the policy for everybody, and nothing else.
    const readable = await run1(
      `find '${host.directory}' -readable -not -path '*/agents/*' -not -path '*/node/*' -not -path '*/daemon/*' 2>/dev/null; for name in credentials.json sealing-key.json places.sqlite separation.json status.json run.lock journal-${host.instanceId}.sqlite log/hawserd.log; do test -r '${host.directory}'/$name && echo "$name"; done; true`,
    );
    assert.equal(readable.trim(), "", "of the front");
    assert.match(await run1(`cat '${host.directory}/policy'`), /root = /);
    for (const user of [second, host.own, host.name]) {
      const processes = host.processesOf(user);
      assert.ok(processes.length > 0, user);
      for (const { pid } of processes) {
        for (const file of ["environ", "mem", "fd", "cwd"]) {
          const printed = await run1(
            `ls -l /proc/${pid}/${file}/ 2>&1; cat /proc/${pid}/${file} 2>&1; true`,
          );
          assert.match(printed, /denied|cannot access/i, `${user} ${file}: ${printed}`);
          assert.doesNotMatch(printed, /canary|HOME=/);
        }
        assert.match(await run1(`kill -0 ${pid} 2>&1; true`), /not permitted/);
      }
    }
    for (const user of [second, host.own, host.name, "root"]) {
      assert.match(await run1(`sudo -n -u ${user} id 2>&1; true`), /password|not allowed|may not/i);
    }
    const { user: boUser } = await bo.whoami({});
    const found = await run1(
      `grep -rls '${secretOf(boUser!.userId)}' /var/lib /tmp/hawser-* /etc 2>/dev/null; true`,
    );
    assert.equal(found.trim(), "", "bo's secret");
    // N6: root finds it in the home of its account, and nowhere else.
    const all = await host.runAs(
      "root",
      `grep -rls '${secretOf(boUser!.userId)}' '${host.directory}' '${host.directory}-users'`,
    );
    const own = join(host.homeOf(second), ".hawser/homes");
    const places = all.output.trim().split("\n");
    assert.ok(places.length > 0);
    for (const place of places) assert.ok(place.startsWith(own), place);
    // A1: texts that once ran unasked gain nothing here either.
    const reads = `cat "${places[0]!}" >&2`;
    const payloads = [
      `x='a[$(${reads})]'; [[ x -eq 0 ]]`,
      `declare -i y='a[$(${reads})]'`,
      `x='$(${reads})'; y="\${x@P}"`,
      `> "${places[0]!}"`,
    ];
    for (const payload of payloads) {
      const printed = await run1(`bash -c '{ ${payload.replaceAll("'", `'\\''`)}; } 2>&1'; true`);
      assert.match(printed, /Permission denied/, payload);
      assert.ok(!printed.includes(secretOf(boUser!.userId)), payload);
    }
  },
);

scenario(
  "An agent cannot take the directory in /tmp without which another user's codex does not run",
  [],
  async (context) => {
    const current = await open(context);
    const { host, bo } = current;
    const { sessionId } = await startIn(current, bo, "claude_code");
    for (const user of [host.own, `${host.name}-1`, `${host.name}-2`]) {
      const uid = Number((await host.runAs(user, "id -u")).output);
      const place = `/tmp/codex-daemon-${uid}`;
      const { output } = await runShell(bo, sessionId, `mkdir '${place}' 2>&1; true`);
      assert.match(output, /File exists/);
      const { uid: owner, mode } = statSync(place);
      assert.deepEqual([owner, mode & 0o777], [uid, 0o700], user);
    }
  },
);

scenario(
  "N8: an agent's user cannot write what the host's owner allows, nor the programs that all users run",
  [],
  async (context) => {
    const current = await open(context);
    const { host, ada } = current;
    const { sessionId } = await startIn(current, ada, "claude_code");
    const { current: kind, ...places } = {
      current: "claude_code",
      policy: `${host.directory}/policy`,
      daemon: `${host.directory}/daemon/current/hawserd.mjs`,
      node: `${host.directory}/daemon/current/node`,
      agents: `${host.directory}/agents/claude_code/current.json`,
      sudoers: `/etc/sudoers.d/${host.name}`,
    };
    assert.ok(kind);
    for (const [name, path] of Object.entries(places)) {
      const before = statSync(path).mtimeMs;
      const { output } = await runShell(
        ada,
        sessionId,
        `echo x >> '${path}'; mv '${path}' '${path}.old'; rm -f '${path}'; true`,
      );
      assert.match(output, /denied|busy/i, name);
      assert.equal(statSync(path).mtimeMs, before, name);
    }
    assert.ok(readdirSync(host.directory).includes("policy"));
    // The same for agents with the host's own logins.
    for (const path of Object.values(places)) {
      const { output } = await host.runAs(host.own, `echo x >> '${path}'; true`);
      assert.match(output, /denied|busy/i, path);
    }
  },
);

scenario(
  "The daemon's commands judge roots with the rights of the users whose sessions use them",
  [],
  async (context) => {
    const { host } = await open(context);
    const hawserd = (words: string) =>
      host.runAs(host.name, `${host.directory}/bin/hawserd ${words}`);
    const place = join(host.root, "..", "judged");
    const asRoot = async (command: string) =>
      assert.equal((await host.runAs("root", command)).code, 0, command);
    // Only the host's own user may read this directory; the front and the people may not.
    await asRoot(
      `mkdir '${place}' '${place}/one' '${place}/one/.git'; chown -R ${host.own} '${place}'`,
    );
    await asRoot(`chmod 700 '${place}'`);
    try {
      const closed = new RegExp(`judged +\\(1 repository\\) .*read by ${host.name}-1 and 1 more`);
      assert.match((await hawserd(`roots add '${place}'`)).output, closed);
      assert.match((await hawserd("doctor")).output, /note +Root .*judged\. It cannot be read by/);
      await asRoot(`chmod 755 '${place}'`);
      assert.match((await hawserd("roots")).output, /judged +\(1 repository\)\n/);
      assert.match((await hawserd("doctor")).output, /ok +Root .*judged\n/);
      // Readable by everybody, but sessions with the host's own logins could not work there.
      await asRoot(`chown root '${place}'`);
      const written = new RegExp(`cannot be read and written by the user ${host.own}`);
      assert.match((await hawserd("roots")).output, written);
      const { code, output } = await hawserd("doctor");
      assert.equal(code, 1);
      assert.match(output, new RegExp(`PROBLEM +Root .*judged ${written.source}`));
      assert.equal((await hawserd(`roots remove '${place}'`)).code, 0);
      const refused = await hawserd(`roots add '${place}'`);
      assert.notEqual(refused.code, 0);
      assert.match(refused.output, written);
    } finally {
      await hawserd(`roots remove '${place}'`);
      await asRoot(`rm -r '${place}'`);
    }
  },
);

scenario(
  "A person's session works in a clone of the repository, and the repository itself is not changed",
  [],
  async (context) => {
    const current = await open(context);
    const { host, ada } = current;
    const before = await host.runAs(
      "root",
      `cd '${host.repository}' && git status --short && git rev-parse HEAD && ls -lR .git | md5sum`,
    );
    const { sessionId, directory } = await startIn(current, ada, "codex");
    const inPlace = { instanceId: host.instanceId, directory: host.repository, useWorktree: false };
    const refused = await ada.try("start_session", { ...inPlace, agentKind: "codex" });
    assertRefused(refused, 409, "host_refused");
    assert.ok(
      directory.startsWith(join(host.homeOf(`${host.name}-1`), ".hawser/checkouts")),
      directory,
    );
    const { output } = await runShell(
      ada,
      sessionId,
      "echo new > added.txt; git log --oneline | wc -l",
    );
    assert.match(output, /^\d+/);
    const { files } = await ada.get_session_diff({ sessionId });
    assert.deepEqual(
      files.map(({ path }) => path),
      ["added.txt"],
    );
    const after = await host.runAs(
      "root",
      `cd '${host.repository}' && git status --short && git rev-parse HEAD && ls -lR .git | md5sum`,
    );
    assert.equal(after.output, before.output);
    await ada.end_session({ sessionId });
    const { parkedSessions } = await ada.list_parked_sessions({ instanceId: host.instanceId });
    assert.ok(parkedSessions.some((each) => each.sessionId === sessionId));
    const restored = await ada.restore_session({ sessionId });
    assert.match((await runShell(ada, restored.sessionId, "cat added.txt")).output, /new/);
  },
);

scenario(
  "A preview reaches the server of the person's own session, and of no other person's",
  [],
  async (context) => {
    const current = await open(context);
    const { host, ada, bo } = current;
    const own = await startIn(current, ada, "claude_code");
    const other = await startIn(current, bo, "claude_code");
    const port = await freePort();
    const answer = "HTTP/1.1 200 OK\\r\\ncontent-length: 3\\r\\nconnection: close\\r\\n\\r\\nown";
    const socket = `IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => ${port}, Listen => 5)`;
    const server = `$server = ${socket}; while ($client = $server->accept) { <$client>; print $client "${answer}"; close $client }`;
    const { sessionId } = own;
    await ada.run_shell({ sessionId, command: `exec perl -MIO::Socket::INET -e '${server}'` });
    const portsOf = async (id: string, person: typeof ada) =>
      (await person.list_session_ports({ sessionId: id })).ports;
    await until(
      "the server listens",
      30_000,
      () => portsOf(sessionId, ada),
      (ports) => ports.some((each) => each.port === port),
    );
    assert.ok(host.processesOf(`${host.name}-1`).some(({ command }) => command.includes("perl")));
    const preview = await ada.create_preview({ sessionId, port, ttlMinutes: 60 });
    assert.equal(await (await through(preview, "/")).text(), "own");

    assert.deepEqual(await portsOf(other.sessionId, bo), []);
    const foreign = { sessionId: other.sessionId, port, ttlMinutes: 60 as const };
    assertRefused(await bo.try("create_preview", foreign), 409, "host_refused");
    await ada.end_session({ sessionId });
    await bo.end_session({ sessionId: other.sessionId });
    await assertEnded(preview);
  },
);

scenario(
  "A person beyond the number of users is refused until an administrator adds some; unlinking ends the agents and removes the home",
  [],
  async (context) => {
    const current = await open(context);
    const { host, ada } = current;
    const { caller, world } = context;
    const { instanceId } = host;
    const cy = await addMember(caller, world, "cy");
    await cy.revoke_api_key({ apiKeyId: firstKeys.get(cy)! });
    const input = await sealedFor(current, cy, {
      kind: "claude_code",
      way: "gateway",
      baseUrl: world.model!.url,
      secret: "canary-of-cy-0123456789",
    });
    const { message } = assertRefused(
      await cy.try("link_agent_identity", input),
      409,
      "login_failed",
    );
    assert.match(message, /--separate and a larger number for --people/);

    // The installer adds users, and follows no link that an agent has made.
    const canary = join(host.root, "canary");
    writeFileSync(canary, "");
    const hostile = `cd ~ && ln -s '${canary}' .gitconfig && ln -s / .hawser/next`;
    const other = `${host.name}-2`;
    const ran = await host.runAs(other, `HOME='${host.homeOf(other)}'; ${hostile}`);
    assert.equal(ran.code, 0, ran.output);
    const { uid } = statSync(canary);
    assert.match(await host.installAgain(3), /3 further users/);
    assert.deepEqual([statSync(canary).uid, statSync(canary).size, statSync("/").uid], [uid, 0, 0]);
    await untilStatus(caller, instanceId, "online");
    assert.equal((await cy.link_agent_identity(input)).account, new URL(world.model!.url).host);

    const { sessionId } = await startIn(current, ada, "claude_code");
    assert.equal(await turnOf(ada, sessionId, scripted("hello", { text: "Hi." })), "completed");
    const user = `${host.name}-1`;
    const agents = () =>
      host.processesOf(user).filter(({ command }) => /\/claude |\/codex /.test(command));
    assert.ok(agents().length > 0);
    const homes = join(host.homeOf(user), ".hawser/homes", instanceId);
    assert.equal(readdirSync(homes).length, 1);
    // Without the variables and the directory by which the daemon finds what its agents have started.
    const hidden =
      "cd / && env -i setsid sh -c 'sleep 600 & sleep 600' > /dev/null 2>&1 < /dev/null &";
    await runShell(ada, sessionId, hidden);
    const left = () => host.processesOf(user).filter(({ command }) => /sleep 600/.test(command));
    assert.ok(left().length > 0);
    for (const kind of separatedKinds) {
      await ada.unlink_agent_identity({ instanceId, kind });
    }
    assert.deepEqual(left(), [], "what the agent left in the background");
    await until(
      "no agent is left",
      5_000,
      async () => agents(),
      (left) => left.length === 0,
    );
    assert.deepEqual(readdirSync(join(homes, readdirSync(homes)[0]!)), []);
    const { sessions } = await ada.list_sessions({});
    const session = sessions.find((each) => each.sessionId === sessionId)!;
    assert.deepEqual([session.status, session.statusReason], ["error", "account_unlinked"]);
  },
);

scenario(
  "N7: a host that is paired again continues with no login of its former pairing",
  [],
  async (context) => {
    const current = await open(context);
    const { host, bo } = current;
    const { caller } = context;
    const { instanceId } = host;
    const homes = join(host.homeOf(`${host.name}-2`), ".hawser/homes");
    // The worker removes the directory, and makes it again. Reading it with Node fails when a part of it goes meanwhile.
    const files = () =>
      spawnSync("find", [homes, "-type", "f"], { encoding: "utf8" }).stdout.match(/.+/g) ?? [];
    assert.ok(files().length > 0);
    const fresh = await caller.regenerate_pairing_token({ instanceId });
    assert.match(await host.installAgain(3, fresh.installCommand), /paired as/);
    await untilStatus(caller, instanceId, "online");
    await until(
      "the homes are empty",
      10_000,
      async () => files(),
      (left) => left.length === 0,
    );
    assert.deepEqual((await bo.list_agent_identities({ instanceId })).identities, []);
  },
);
