// A host's roots, the projects in them, and browsing, which cannot leave the roots.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { createRepository, git } from "@hawser/testkit/git-repository.ts";
import { writePolicy, type TestHost } from "@hawser/testkit/host.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ hosts: 1 });

const secret = "ghp_hunter2hunter2hunter2";
const plain = { isGitRepository: false, branch: null, remote: null };

/** Two roots: the host's folder of projects, and a repository beside it. */
function layOut(host: TestHost) {
  const repository = join(dirname(host.root), "engine");
  const notes = join(host.root, "notes");
  writePolicy(host, `root = ${host.root}\nroot = ${repository}\n`);
  if (existsSync(notes)) return { repository, notes };
  mkdirSync(notes);
  writeFileSync(join(host.root, "file"), "");
  git(host.repository, "checkout", "-q", "-b", "topic");
  git(host.repository, "remote", "add", "origin", `https://ada:${secret}@code.example/widget.git`);
  createRepository(repository);
  return { repository, notes };
}

scenario(
  "Roots are listed with the projects of a folder, and each with what git knows of it",
  [
    "general.capabilities",
    "list_directories.result",
    "record.directory.path",
    "record.directory.isGitRepository",
    "record.directory.branch",
    "record.directory.remote",
    "record.directory.root_kind",
  ],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { repository, notes } = layOut(host);
    const remote = "https://code.example/widget.git";
    const { roots, live, takenAt } = await caller.list_directories({ instanceId: host.instanceId });
    assert.deepEqual(roots, [
      {
        path: host.root,
        type: "folder",
        ...plain,
        children: [
          { path: notes, ...plain },
          { path: host.repository, isGitRepository: true, branch: "topic", remote },
        ],
        truncated: false,
      },
      {
        path: repository,
        type: "repository",
        isGitRepository: true,
        branch: "main",
        remote: null,
        children: [],
        truncated: false,
      },
    ]);
    assert.equal(live, true);
    assert.ok(Math.abs(Date.parse(takenAt!) - Date.now()) < 60_000);
  },
);

scenario(
  "An instance shows its roots, and warns of what is wrong with them",
  ["record.instance.roots"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const { repository } = layOut(host);
    const policy = `root = ${host.root}\nroot = ${repository}\n`;
    writePolicy(host, `${policy}root = ${host.root}/gone\n`);
    await caller.refresh_instance({ instanceId });
    const { roots, warnings } = await caller.get_instance({ instanceId });
    const folder = { path: host.root, type: "folder", ...plain };
    const git = { isGitRepository: true, branch: "main", remote: null };
    assert.deepEqual(roots, [folder, { path: repository, type: "repository", ...git }]);
    assert.ok(
      warnings.some(({ code, message }) => code === "root_missing" && /gone/.test(message)),
    );
    writePolicy(host, "rots = /\n");
    const broken = await caller.refresh_instance({ instanceId });
    assert.deepEqual(broken.roots, []);
    assert.ok(broken.warnings.some(({ code }) => code === "policy_unreadable"));
    assert.deepEqual((await caller.list_directories({ instanceId })).roots, []);
    writePolicy(host, policy);
    // Any use of the file finds the change, and the daemon then reports it by itself.
    assert.equal((await caller.list_directories({ instanceId })).roots.length, 2);
    await until(
      "the instance shows its roots again",
      10_000,
      () => caller.get_instance({ instanceId }),
      (shown) => shown.roots.length === 2,
    );
  },
);

scenario(
  "A connected host shows its disk as it is at that moment",
  ["list_directories.live"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    layOut(host);
    const fresh = join(host.root, "fresh");
    const find = async () => {
      const { roots } = await caller.list_directories({ instanceId });
      return roots[0]!.children.find(({ path }) => path === fresh);
    };
    assert.equal(await find(), undefined);
    createRepository(fresh);
    assert.equal((await find())!.branch, "main");
    git(fresh, "checkout", "-q", "-b", "next");
    assert.equal((await find())!.branch, "next");
    rmSync(fresh, { recursive: true });
    assert.equal(await find(), undefined);
  },
);

scenario(
  "Browsing lists the directories in a directory, and no files",
  ["browse_directory.result"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { notes } = layOut(host);
    const { instanceId } = host;
    const remote = "https://code.example/widget.git";
    assert.deepEqual(await caller.browse_directory({ instanceId, path: host.root }), {
      directories: [
        { path: notes, ...plain },
        { path: host.repository, isGitRepository: true, branch: "topic", remote },
      ],
      truncated: false,
    });
    mkdirSync(join(notes, "2026", "may"), { recursive: true });
    const inside = await caller.browse_directory({ instanceId, path: `${notes}//2026/` });
    assert.deepEqual(inside.directories, [{ path: join(notes, "2026", "may"), ...plain }]);
  },
);

scenario(
  "No path leads out of the roots, and no answer shows what lies outside (T12)",
  ["browse_directory.path.roots", "browse_directory.path.absolute"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId, root } = host;
    layOut(host);
    mkdirSync(`${root}-evil`);
    symlinkSync("/etc", join(root, "etc"));
    symlinkSync(`${root}-evil`, join(root, "evil"));
    const browse = (path: string) => caller.try("browse_directory", { instanceId, path });
    const { message } = assertRefused(await browse(`${root}/missing`), 404, "not_found");
    for (const path of [
      "/",
      "/etc",
      `${root}/..`,
      `${root}/../..`,
      `${root}-evil`,
      `${root}/etc`,
      `${root}/etc/ssl`,
      `${root}/evil`,
      `${root}/file`,
      `${root}/widget/.git`,
      `${root}/${"x".repeat(4096)}`,
      `/proc/self/root/etc`,
    ]) {
      const refusal = assertRefused(await browse(path), 404, "not_found", path);
      assert.equal(refusal.message, message, path);
    }
    for (const path of ["widget", "", "./widget", "~", `${root}\0`]) {
      assertInvalid(await browse(path), "path");
    }
  },
);

scenario(
  "A secret in the address of a remote never leaves the host (T10)",
  ["record.directory.remote.secret"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId, root } = host;
    layOut(host);
    // A root of its own, so that it is among the instance's facts too.
    writePolicy(host, `root = ${root}\nroot = ${host.repository}\n`);
    const told = [
      await caller.list_directories({ instanceId }),
      await caller.browse_directory({ instanceId, path: root }),
      await caller.refresh_instance({ instanceId }),
      await caller.get_instance({ instanceId }),
      await caller.list_audit_entries({}),
      host.log,
      world.nodes[0]!.log,
    ].map((part) => JSON.stringify(part));
    told.push(await dumpDatabase(world.database.url));
    assert.ok(told[0]!.includes("code.example/widget.git"));
    for (const text of told) assert.ok(!text.includes("hunter2"), text.slice(0, 200));
  },
);

scenario(
  "For an offline host the last known directories are listed, and browsing is refused",
  ["list_directories.snapshot"],
  async ({ world, caller }) => {
    const { instance } = await caller.create_instance({ name: "never paired" });
    const never = { instanceId: instance.instanceId };
    assert.deepEqual(await caller.list_directories(never), {
      roots: [],
      live: false,
      takenAt: null,
    });
    const host = await world.addHost();
    const { instanceId } = host;
    const first = await caller.list_directories({ instanceId });
    assert.equal(first.live, true);
    await stopProcess(host.process);
    mkdirSync(join(host.root, "later"));
    const remembered = await until(
      "the host is away",
      10_000,
      () => caller.list_directories({ instanceId }),
      ({ live }) => !live,
    );
    assert.deepEqual(remembered, { ...first, live: false });
    const browsed = await caller.try("browse_directory", { instanceId, path: host.root });
    assertRefused(browsed, 409, "host_offline");
  },
);
