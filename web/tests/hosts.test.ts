// Hosts in Chromium: what the table says is what the records say, and pairing shows what happens.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Caller } from "@hawser/testkit/caller.ts";
import { startCodexIssuer } from "@hawser/testkit/codex-issuer.ts";
import { prepareAccount, wrapCodex } from "@hawser/testkit/codex-program.ts";
import { openDashboard } from "@hawser/testkit/dashboard.ts";
import { startHost, writePolicy } from "@hawser/testkit/host.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

let world: World;
const directory = mkdtempSync(join(tmpdir(), "hawser-pages-"));
before(async () => (world = await startWorld({ nodes: 1, nats: 1, named: true })));
after(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

test("an organization without hosts is led to pairing, which follows the machine until it is online", async () => {
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page } = dashboard;
  await dashboard.open("/hosts");
  await page.getByText("Pair the machine where your code lives.").waitFor();
  await page.getByRole("button", { name: "Pair a host" }).click();
  await page.getByLabel("Name").fill("builder-fra-2");
  await page.getByRole("button", { name: "Make the command" }).click();
  const dialog = page.getByRole("dialog", { name: "Pair builder-fra-2" });
  const command = await dialog.locator(".copy > span").innerText();
  const token = /hwp_\w+/.exec(command)?.[0];
  assert.ok(token, command);
  await dialog.getByRole("img", { name: "No line yet" }).waitFor();
  await page.getByRole("button", { name: "It does not come" }).click();
  await dialog.getByText("The command did not finish").waitFor();

  const { instances } = await world.caller.list_instances({});
  const pairing = { instance: instances[0], pairingToken: token };
  const caller = new Proxy(world.caller, {
    get: (calls, name) =>
      name === "create_instance" ? async () => pairing : calls[name as keyof Caller],
  });
  await using host = await startHost(caller, world.baseUrl, join(directory, "host"));
  await dialog.getByRole("img", { name: "Line taut" }).waitFor();
  // The command holds a secret that is used up.
  assert.equal(await dialog.locator(".copy").count(), 0);
  assert.match(await dialog.innerText(), /Daemon \d+\.\d+\.\d+\. It found no agents\./);
  const start = dialog.getByRole("link", { name: "Start a session here" });
  assert.equal(await start.getAttribute("href"), `/new?instance=${host.instanceId}`);
  await dialog.getByRole("link", { name: "Open host" }).click();
  await page.getByRole("heading", { name: "Directories" }).waitFor();
  await page.getByText(host.root, { exact: true }).waitFor();

  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);

  // Nobody reloads the page.
  await page.getByText("Live", { exact: true }).waitFor();
  host.process.kill("SIGKILL");
  await page.getByText(/Link lost .*What follows is as the host last reported it\./).waitFor();
  await page.getByRole("navigation", { name: "Pages" }).first().getByText("Hosts").click();
  const row = page.getByRole("row", { name: /builder-fra-2/ });
  await row.getByText("Offline").waitFor();
  await row.getByText("as last reported").waitFor();
  assert.equal(await row.getByRole("img", { name: "Ready" }).count(), 0);
  // What the page asked the host before it learned of the end is refused.
  const others = dashboard.errors.filter((text) => !/ 409 .*list_parked_sessions$/.test(text));
  assert.deepEqual([dashboard.violations, others], [[], []]);
});

test("N30: a hostile name is drawn as text, and cannot look like another name", async () => {
  const names = [
    "<img src=x onerror=document.title='owned'>",
    "javascript:alert(1)",
    "ok\u202Egnp.exe",
    "zero\u200Bwidth",
    "{{constructor.constructor('alert(1)')()}}",
    "x".repeat(80),
  ];
  for (const name of names) await world.caller.create_instance({ name });
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page } = dashboard;
  await dashboard.open("/hosts");
  await page.getByText("Machines where agents run.").waitFor();
  const shown = await page.locator("td.names b").allInnerTexts();
  for (const name of names) {
    const marked = name.replace("\u202E", "U+202E").replace("\u200B", "U+200B");
    assert.ok(shown.includes(marked), `${marked} is not in ${shown.join(", ")}`);
  }
  assert.equal(await page.locator("main img").count(), 0);
  assert.equal(await page.title(), "Hosts · Hawser");
  await page.getByRole("link", { name: /okU\+202Egnp/ }).click();
  await page.getByRole("heading", { name: "okU+202Egnp.exe" }).waitFor();
  assert.equal(await page.title(), "okU+202Egnp.exe · Hawser");
  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);
});

test("a viewer sees the hosts, and no button that they may not use", async () => {
  await using dashboard = await openDashboard(world, { role: "viewer" });
  const { page } = dashboard;
  const permissions = page.waitForResponse(/whoami/);
  await dashboard.open("/hosts");
  await page.getByText("Machines where agents run.").waitFor();
  await permissions;
  assert.equal(await page.getByRole("button", { name: "Pair a host" }).count(), 0);
  await page.getByRole("link", { name: "javascript:alert(1)" }).click();
  await page.getByRole("heading", { name: "Directories" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Host actions" }).count(), 0);
});

test("a host is renamed and removed, and the dialog says before what goes with it", async () => {
  const { instance } = await world.caller.create_instance({ name: "old name" });
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page } = dashboard;
  await dashboard.open(`/hosts/${instance.instanceId}`);
  const choose = async (item: string) => {
    await page.getByRole("button", { name: "Host actions" }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await choose("Rename");
  await page.getByRole("textbox", { name: "Name" }).fill("new name");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "new name" }).waitFor();
  await choose("Remove");
  const dialog = page.getByRole("dialog", { name: "Remove new name?" });
  await dialog.getByText("Files on the machine stay.").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await choose("Remove");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.waitForURL("**/hosts");
  await dashboard.open(`/hosts/${instance.instanceId}`);
  await page.getByText("There is no such host").waitFor();
});

test("a person signs in to the real codex on a host, and the page shows the account until it is unlinked", async () => {
  await using issuer = await startCodexIssuer();
  const name = "with codex";
  await using host = await startHost(world.caller, world.baseUrl, join(directory, "codex"), {
    name,
    agents: ["codex"],
    modelUrl: issuer.url,
  });
  wrapCodex(host, issuer);
  writePolicy(host, `root = ${host.root}\nshared-logins = yes\n`);
  await world.caller.update_settings({ allowedLogins: ["subscription"] });
  await using dashboard = await openDashboard(world, { role: "member" });
  const { page } = dashboard;
  page.setDefaultTimeout(90_000);
  const { members } = await world.caller.list_members({});
  const member = members.find(({ email }) => email === dashboard.email)!;
  prepareAccount(host, issuer, member, issuer.url);
  await dashboard.open(`/hosts/${host.instanceId}`);
  await page.getByText("All agents run as one Unix user on this host").waitFor();
  await page.getByRole("button", { name: "Sign in to Codex" }).click();
  const dialog = page.getByRole("dialog", { name: `Sign in to Codex on ${name}` });
  await dialog.getByText("Waiting for the login").waitFor();
  const [userCode] = issuer.waiting();
  await dialog.getByText(userCode!, { exact: true }).waitFor();
  issuer.approve(userCode!, { email: "mira@openai.example", plan: "pro" });
  await dialog.getByText("You are signed in as mira@openai.example.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  const line = page.locator(".group > .line").filter({ hasText: "mira@openai.example" });
  await line.getByText(/plan pro/).waitFor();

  await line.getByRole("button", { name: "Actions for Codex" }).click();
  await page.getByRole("menuitem", { name: "Unlink" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click();
  await page.getByText("No account of yours is linked.").waitFor();

  // The real host opens what the browser has sealed.
  await world.caller.update_settings({ allowedLogins: ["api_key"] });
  await page.getByRole("button", { name: "Actions for Codex" }).click();
  await page.getByRole("menuitem", { name: "Use a key or a gateway" }).click();
  await page.getByLabel("Key", { exact: true }).fill(`sk-${"x".repeat(40)}4f2c`);
  await page.getByRole("dialog").getByRole("button", { name: "Link" }).click();
  await page.getByText(/API key, .*4f2c/).waitFor();
  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);
});
