// Keys of the service are replaced while hosts are connected. The long runs, with 200 hosts, are
// `npm run faults -- rotation`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { rotations, runRotation, type RotatedKey } from "../faults/rotations.ts";
import { tell } from "../figures.ts";

for (const key of Object.keys(rotations) as RotatedKey[]) {
  test(`A14: the ${key} key is rotated without losing a command or a host`, async () => {
    const result = await runRotation({ key, hosts: 12 });
    tell(
      `rotation of the ${key} key: ${result.commands} commands, ${result.lost.length} lost, ${result.offline.length} shown offline, ${result.seconds} s`,
    );
    assert.deepEqual(result.violations, []);
    assert.ok(result.commands >= 20);
  });
}
