// A separated host that is uninstalled as the guide says, and installed again.
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { untilStatus } from "@hawser/testkit/host.ts";
import { installSeparatedHost } from "@hawser/testkit/separated-host.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nats: 1, releases: true });

scenario(
  "A separated host is uninstalled without an error, says what is left to root, and can be installed again",
  [],
  async ({ caller }) => {
    await using host = await installSeparatedHost({ caller });
    const { directory, instanceId, name } = host;
    assert.ok(host.output.includes(`crontab -u ${name} -e`), host.output);
    assert.ok(host.output.includes(`sudo -u ${name} ${directory}/bin/hawserd status`), host.output);
    for (let round = 0; round < 2; round++) {
      const { code, output } = host.runAs(name, `${directory}/bin/hawserd uninstall --yes`);
      assert.equal(code, 0, output);
      assert.doesNotMatch(output, /Error|were not removed/);
      assert.ok(output.includes(`rm -r ${directory} ${directory}-users`), output);
      assert.match(output, /delete_instance removes it there/);
      assert.deepEqual(readdirSync(directory), []);
      assert.ok(existsSync(`${directory}-users`));
      const { installCommand } = await caller.regenerate_pairing_token({ instanceId });
      assert.match(await host.installAgain(2, installCommand), /paired as/);
      await untilStatus(caller, instanceId, "online");
      const { uid } = statSync(directory);
      assert.notEqual(uid, 0);
      for (const part of ["bin", "daemon", "node", "policy"]) {
        assert.equal(statSync(join(directory, part)).uid, uid, part);
      }
    }
  },
);
