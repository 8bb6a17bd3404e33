// The service gets another address while hosts know the old one. A host moves when the new address works,
// and is never lost when it does not.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { startCuttingProxy, type CuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startHost, untilStatus } from "@hawser/testkit/host.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { until } from "@hawser/testkit/until.ts";
import { tell } from "../figures.ts";
import { scenario, useWorld } from "../scenario.ts";

const port = await freePort();
// Two networks lead to the service: the address that hosts know, and the one that it has now.
const known: CuttingProxy = await startCuttingProxy({ port });
const present: CuttingProxy = await startCuttingProxy({ port });
const urlOf = (proxy: CuttingProxy) => `http://127.0.0.1:${proxy.port}`;
const place = mkdtempSync(join(tmpdir(), "hawser-moved-"));
after(async () => {
  await known[Symbol.asyncDispose]();
  await present[Symbol.asyncDispose]();
  removeDirectory(place);
});

useWorld({
  nats: 1,
  port,
  environment: {
    HAWSER_BASE_URL: urlOf(present),
    HAWSER_FORMER_BASE_URLS: `${urlOf(known)}/`,
  },
});

scenario(
  "A host moves to the service's new address when that works, stays at the old one until then, and returns to it if the new one fails at once",
  ["record.instance.status"],
  async ({ caller }) => {
    present.cut();
    await using host = await startHost(caller, urlOf(known), join(place, "host"));
    const { instanceId, stateDirectory } = host;
    const credentials = () =>
      JSON.parse(readFileSync(join(stateDirectory, "credentials.json"), "utf8")) as {
        serverUrl: string;
        nextServerUrl?: string;
        formerServerUrl?: string;
      };
    const problems = async () =>
      (await caller.get_instance({ instanceId })).warnings
        .filter(({ code }) => code === "address_not_used")
        .map(({ message }) => message);
    const hawserd = String(host.process.spawnargs.find((word) => /\.(?:ts|mjs)$/.test(word)));
    const printStatus = () =>
      new Promise<string>((resolve) =>
        execFile(process.execPath, [hawserd, "status", "--state", stateDirectory], (_error, out) =>
          resolve(out),
        ),
      );

    // The new address does not work: the host stays online at the old one, and says why.
    await until("the host warns", async () => (await problems()).length === 1, 30_000);
    const [problem] = await problems();
    assert.ok(problem!.includes(`to be used at ${urlOf(present)}, and this host stays with`));
    assert.match(problem!, /cannot be reached/);
    assert.ok((await printStatus()).includes(`Warning: ${problem}`));
    assert.equal(credentials().serverUrl, urlOf(known));
    assert.equal((await caller.get_instance({ instanceId })).status, "online");

    // The new address works: the host moves to it, stays online, and no longer needs the old address.
    const healedAt = performance.now();
    present.heal();
    await until("the host moves", () => credentials().serverUrl === urlOf(present), 60_000);
    tell(`moved ${Math.round(performance.now() - healedAt)} ms after the address worked`);
    await untilStatus(caller, instanceId, "online");
    await until("the warning is gone", async () => (await problems()).length === 0, 30_000);
    await until("the old link is closed", () => known.connections() === 0, 30_000);
    known.cut();
    assert.equal((await caller.list_directories({ instanceId })).live, true);
    assert.deepEqual(credentials().formerServerUrl, urlOf(known));

    // The new address fails soon after: the host returns to the one that it knows.
    present.cut();
    known.heal();
    await until("the host returns", () => credentials().serverUrl === urlOf(known), 60_000);
    await untilStatus(caller, instanceId, "online");
    present.heal();
    await until("the host moves again", () => credentials().serverUrl === urlOf(present), 60_000);
    await untilStatus(caller, instanceId, "online");
  },
);
