// Keys of the service are replaced while hosts are connected. The long run, with 200 hosts, is
// `npm run faults -- rotation`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { rotations, runRotations, type RotatedKey } from "../faults/rotations.ts";
import { tell } from "../figures.ts";

test("A14: each key of the service is rotated without losing a command or a host", async () => {
  const keys = Object.keys(rotations) as RotatedKey[];
  for await (const result of runRotations({ keys, hosts: 10 })) {
    const { key, commands, lost, offline, seconds } = result;
    tell(
      `rotation of the ${key} key: ${commands} commands, ${lost.length} lost, ${offline.length} hosts shown offline, ${seconds} s`,
    );
    assert.deepEqual(result.violations, []);
    assert.ok(commands >= 18);
  }
});
