// A folder of 2,000 repositories, listed through the whole product, within its time.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createManyRepositories, git } from "@hawser/testkit/git-repository.ts";
import { writePolicy } from "@hawser/testkit/host.ts";
import { tell, tellTimes } from "../figures.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ hosts: 1 });

const many = 2_000;

scenario(
  "2,000 repositories are listed in 2 s, and in 200 ms when they are known",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const folder = join(host.root, "..", "many");
    await createManyRepositories(folder, many);
    writePolicy(host, `root = ${folder}\n`);
    const list = async () => {
      const started = performance.now();
      const listing = await caller.list_directories({ instanceId });
      return { listing, ms: performance.now() - started };
    };
    const cold = await list();
    const [root] = cold.listing.roots;
    assert.equal(cold.listing.live, true);
    assert.equal(root!.children.length, many);
    assert.equal(root!.truncated, false);
    assert.ok(root!.children.every(({ branch, remote }) => branch === "main" && remote));
    tell(`${many} repositories: ${Buffer.byteLength(JSON.stringify(cold.listing))} bytes`);
    tellTimes(`${many} repositories, listed first`, [cold.ms], 2_000);
    const warm: number[] = [];
    for (let i = 0; i < 10; i++) warm.push((await list()).ms);
    tellTimes(
      `${many} repositories, listed again, median`,
      [warm.toSorted((a, b) => a - b)[5]!],
      200,
    );
    git(join(folder, "project-01000"), "checkout", "-q", "-b", "topic");
    const { listing } = await list();
    assert.equal(listing.roots[0]!.children[999]!.branch, "topic");
  },
);

scenario(
  "A folder with too many for one reply is cut and says so",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const folder = join(host.root, "..", "too-many");
    for (let i = 0; i < 7_000; i++) {
      mkdirSync(join(folder, `project-${"x".repeat(100)}-${i}`), { recursive: true });
    }
    writePolicy(host, `root = ${folder}\nroot = ${host.root}\n`);
    const { roots, live } = await caller.list_directories({ instanceId });
    assert.equal(live, true);
    assert.equal(roots[0]!.truncated, true);
    assert.ok(roots[0]!.children.length > 3_000);
    assert.deepEqual([roots[1]!.truncated, roots[1]!.children.length], [false, 1]);
    const browsed = await caller.browse_directory({ instanceId, path: folder });
    assert.equal(browsed.truncated, true);
    assert.ok(browsed.directories.length > 3_000);
    tell(`7,000 directories: ${browsed.directories.length} fit into a reply`);
  },
);
