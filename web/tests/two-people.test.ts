// Two people in one browser, in Chromium: what happens to the page of the first when the second signs in.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDashboard, password, type Dashboard } from "@hawser/testkit/dashboard.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { openFaked, sessionId } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

let world: World;
before(async () => (world = await startWorld({ nodes: 1, nats: 1, named: true })));
after(() => world[Symbol.asyncDispose]());

type Page = Dashboard["page"];

/** The address of a second person, who has an account. */
async function makeKim(): Promise<string> {
  await using dashboard = await openDashboard(world, { role: "owner" });
  return dashboard.email;
}

/** Opens the dialog of a new host, and types its name. */
async function typeHost({ page, open }: Dashboard, name: string): Promise<void> {
  await open("/hosts");
  await page.getByRole("button", { name: "Pair a host" }).click();
  await page.getByLabel("Name").fill(name);
}

const cover = (page: Page) => page.getByRole("dialog", { name: "Somebody else is signed in" });

async function hostsNamed(query: string) {
  return (await world.caller.search_instances({ query })).instances;
}

/** Signs in without a page that could tell the other tabs. */
function signInUnnoticed(tab: Page, email: string): Promise<number> {
  return tab.evaluate(
    async (body) => {
      const response = await fetch("/api/sign-in/password", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return response.status;
    },
    { email, password },
  );
}

test("what the first person presses is not done for the second, and is there when the first comes back", async () => {
  await using mira = await openDashboard(world, { role: "owner" });
  const { page } = mira;
  const kim = await makeKim();
  await typeHost(mira, "pressed by Mira");
  const tab = await page.context().newPage();
  await tab.goto(`${world.pageUrl}/sign-in`);
  await page.bringToFront();
  assert.equal(await signInUnnoticed(tab, kim), 200);
  await page.getByRole("button", { name: "Make the command" }).click();
  await cover(page).getByText(`${kim} has signed in with this browser.`).waitFor();
  assert.deepEqual(await hostsNamed("pressed by Mira"), []);
  // Nothing closes it but an answer.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page
    .getByRole("button", { name: `Sign in as ${mira.email} again` })
    .click({ timeout: 10_000 });
  assert.equal(await cover(page).getByLabel("Email").inputValue(), mira.email);
  await cover(page).getByLabel("Password").fill(password);
  await cover(page).getByRole("button", { name: "Sign in", exact: true }).click();
  await cover(page).waitFor({ state: "detached" });
  // It was not sent by itself.
  assert.deepEqual(await hostsNamed("pressed by Mira"), []);
  assert.equal(await page.getByLabel("Name").inputValue(), "pressed by Mira");
  await page.getByRole("button", { name: "Make the command" }).click();
  await page.getByText("Waiting for the machine").waitFor();
  const { entries } = await world.caller.list_audit_entries({ limit: 10 });
  const made = entries.filter(({ action }) => action === "create_instance");
  assert.deepEqual(
    made.map(({ actor }) => (actor as { name?: string }).name),
    ["Mira Okafor"],
  );
  assert.deepEqual(mira.violations, []);
});

test("a tab notices by itself that somebody else has signed in, and belongs to them after a reload", async () => {
  await using mira = await openDashboard(world, { role: "owner" });
  const { page, open } = mira;
  const kim = await makeKim();
  await open("/hosts");
  await page.getByRole("button", { name: `${mira.email}, account` }).waitFor();
  const tab = await page.context().newPage();
  await tab.goto(`${world.pageUrl}/sign-in`);
  await tab.getByLabel("Email").fill(kim);
  await tab.getByLabel("Password").fill(password);
  await tab.getByRole("button", { name: "Sign in" }).click();
  await tab.getByRole("button", { name: `${kim}, account` }).waitFor();
  await cover(page).getByText(`${kim} has signed in with this browser.`).waitFor();
  assert.equal(await cover(tab).count(), 0);
  await page.getByRole("button", { name: `Reload as ${kim}` }).click();
  await page.getByRole("button", { name: `${kim}, account` }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/hosts");
  assert.equal(await cover(page).count(), 0);
});

test("when the first person comes back in another tab, the page goes on, and the second one's stops", async () => {
  await using mira = await openDashboard(world, { role: "owner" });
  const { page, open } = mira;
  const kim = await makeKim();
  await open("/hosts");
  const tab = await page.context().newPage();
  await tab.goto(`${world.pageUrl}/sign-in`);
  await signInUnnoticed(tab, kim);
  await tab.goto(`${world.pageUrl}/hosts`);
  await cover(page).waitFor();
  const third = await page.context().newPage();
  await third.goto(`${world.pageUrl}/sign-in`);
  await signInUnnoticed(third, mira.email);
  await third.goto(`${world.pageUrl}/hosts`);
  await cover(page).waitFor({ state: "detached" });
  await cover(tab).getByText(`${mira.email} has signed in with this browser.`).waitFor();
  await page.getByRole("button", { name: "Pair a host" }).click();
  await page.getByLabel("Name").fill("paired again");
  await page.getByRole("button", { name: "Make the command" }).click();
  await page.getByText("Waiting for the machine").waitFor();
});

test("a tab keeps its organization when another tab of the person chooses another one", async () => {
  const stranger = world.callerFor(world.organizations[1].keys.owner);
  await using mira = await openDashboard(world, { role: "owner" });
  const { page, email, open } = mira;
  const { url } = await stranger.create_invitation({ email, role: "owner" });
  await open(`/invite${new URL(url).hash}`);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByRole("button", { name: "Globex" }).waitFor();
  const tab = await page.context().newPage();
  await tab.goto(`${world.pageUrl}/hosts`);
  await tab.getByRole("button", { name: "Globex" }).click();
  await tab.getByRole("menuitemradio", { name: "Acme" }).click();
  await tab.getByRole("button", { name: "Acme" }).waitFor();
  await page.bringToFront();
  await typeHost(mira, "of Globex");
  await page.getByRole("button", { name: "Make the command" }).click();
  await page.getByText("Waiting for the machine").waitFor();
  assert.equal((await stranger.search_instances({ query: "of Globex" })).instances.length, 1);
  assert.deepEqual(await hostsNamed("of Globex"), []);
});

test("a draft stays with its person: refused for the second, hidden from them, and there again later", async () => {
  await using faked = await openFaked({ entryAt: generatedEntry, length: 3 });
  const { page } = faked;
  const path = `/sessions/${sessionId}`;
  const message = () => page.getByLabel("Message");
  const draft = "Mira's private plan";
  await faked.open(path);
  await message().fill(draft);
  faked.signInAs("kim@people.example");
  await message().press("Enter");
  await cover(page).getByText("kim@people.example has signed in with this browser.").waitFor();
  const sent = faked.calls.filter(({ action }) => action === "send_prompt");
  assert.deepEqual(sent, [], "the service has carried out nothing");
  // The service has refused it, so it is a draft again.
  const isDraft = (text: string) => document.querySelector("textarea")?.value === text;
  await page.waitForFunction(isDraft, draft);
  await page.getByRole("button", { name: "Reload as kim@people.example" }).click();
  await page.getByRole("button", { name: "kim@people.example, account" }).waitFor();
  await page.locator(".log-row").first().waitFor();
  assert.equal(await message().inputValue(), "");
  await message().fill("Kim's own");
  assert.equal(await page.getByText(draft).count(), 0);
  faked.signInAs("mira@people.example");
  await page.getByRole("button", { name: "Reload as mira@people.example" }).click();
  await page.getByRole("button", { name: "mira@people.example, account" }).waitFor();
  await page.waitForFunction(isDraft, draft);
});
