import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findAgentPackages } from "../up/agent-packages.ts";
import { registryAddress } from "./registry.ts";

test("packages come from the address that npm has on this machine, for the scope if it has one", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "hawser-registry-"));
  const before = { ...process.env };
  t.after(() => {
    rmSync(place, { recursive: true, force: true });
    process.env = before;
  });
  const settings = join(place, "npmrc");
  process.env["npm_config_userconfig"] = settings;
  delete process.env["npm_config_registry"];
  const table: [npmrc: string, address: string][] = [
    ["registry=https://packages.example/npm", "https://packages.example/npm/"],
    [
      "registry=https://packages.example/\n@hawser:registry=https://scope.example/a=b/",
      "https://scope.example/a=b/",
    ],
  ];
  for (const [npmrc, address] of table) {
    writeFileSync(settings, `${npmrc}\n`);
    assert.equal(await registryAddress(), address);
  }
  process.env["npm_config_registry"] = "https://set.example";
  assert.equal(await registryAddress(), "https://set.example/");
  // Its address is printed, logged, and shown to every member when an installation of an agent fails.
  process.env["npm_config_registry"] = "https://ada:secret@set.example/npm";
  assert.equal(await registryAddress(), "https://set.example/npm/");
  assert.equal((await findAgentPackages())?.url, "https://set.example/npm");
  delete process.env["npm_config_registry"];
  process.env["PATH"] = place;
  await assert.rejects(registryAddress(), /npm does not run here\. Set npm_config_registry/);
});
