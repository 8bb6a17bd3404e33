// Signing in, invitations, and what happens when a sign-in ends, in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDashboard, password } from "@hawser/testkit/dashboard.ts";
import { addVirtualAuthenticator } from "@hawser/testkit/virtual-authenticator.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

let world: World;
before(async () => (world = await startWorld({ nodes: 1, nats: 1, named: true })));
after(() => world[Symbol.asyncDispose]());

/** The address of a new invitation, without the service. */
async function invite(email: string, by = world.caller): Promise<string> {
  const { url } = await by.create_invitation({ email, role: "owner" });
  const { pathname, hash } = new URL(url);
  return pathname + hash;
}

test("who is not signed in comes to the sign-in page, and after it to where they wanted to go", async () => {
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page, email, open } = dashboard;
  await page.context().clearCookies();
  await open("/hosts?status=offline");
  await page.getByRole("heading", { name: "Sign in to Hawser" }).waitFor();
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill("a wrong password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The address or the password is wrong.").waitFor();
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await page.getByText("No hosts yet").waitFor();
  assert.equal(new URL(page.url()).pathname, "/hosts");
  await page.getByRole("button", { name: `${email}, account` }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await page.reload();
  // Set before the first paint.
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await page.getByRole("button", { name: `${email}, account` }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Hawser" }).waitFor();
  assert.deepEqual(dashboard.violations, []);
});

test("after signing in, nobody is led to another site", async () => {
  await using dashboard = await openDashboard(world, { role: "viewer" });
  const { page, email, open } = dashboard;
  for (const to of ["//evil.example/", "https://evil.example/", "/\\evil.example"]) {
    await page.context().clearCookies();
    await open(`/sign-in?to=${encodeURIComponent(to)}`);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${world.pageUrl}/sessions`);
  }
});

test("an invitation makes an account with a password and a passkey, which signs in from then on", async () => {
  await using dashboard = await openDashboard(world);
  const { page, open } = dashboard;
  await addVirtualAuthenticator(page);
  const link = await invite("new@people.example");
  await open(link);
  await page.getByRole("heading", { name: "Join Acme" }).waitFor();
  await page.getByText("You are invited as new@people.example, with the role owner.").waitFor();
  await page.getByLabel("Choose a password").fill(password);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("No hosts yet").waitFor();
  await page.context().clearCookies();
  await open("/sign-in");
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByText("No hosts yet").waitFor();
  // The link works once.
  await page.goto("about:blank");
  await open(link);
  await page.getByText("This invitation was used or withdrawn, or it is too old.").waitFor();
  assert.deepEqual(dashboard.violations, []);
});

test("a member with keys shows one to accept an invitation", async () => {
  const { caller } = world;
  const email = "keyed@people.example";
  const { userId } = await caller.add_member({ email, role: "viewer" });
  const { key } = await caller.create_api_key({
    name: "laptop",
    scope: "user",
    userId,
    permissions: ["instances:view", "sessions:view"],
  });
  await using dashboard = await openDashboard(world);
  const { page, open } = dashboard;
  await open(await invite(email));
  await page.getByLabel("Choose a password").fill(password);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByLabel("A key of yours").fill(key);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByRole("button", { name: `${email}, account` }).waitFor();
});

test("a person with several organizations chooses one, and sees only that one", async () => {
  const [acme, globex] = world.organizations;
  const stranger = world.callerFor(globex.keys.owner);
  await stranger.create_instance({ name: "host of Globex" });
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page, email, open } = dashboard;
  await open("/hosts");
  await page.getByText("No hosts yet").waitFor();
  await open(await invite(email, stranger));
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByText("No host is online").waitFor();
  await page.getByRole("button", { name: "Globex" }).click();
  await page.getByRole("menuitemradio", { name: "Acme" }).click();
  await page.getByText("No hosts yet").waitFor();
  assert.equal(await page.getByText("No host is online").count(), 0);
  // A browser that knows neither asks.
  await page.evaluate(() => (sessionStorage.clear(), localStorage.clear()));
  await open("/hosts");
  await page.getByRole("heading", { name: "Which organization?" }).waitFor();
  await page.getByRole("button", { name: /Globex/ }).click();
  await page.getByText("No host is online").waitFor();
  assert.ok(acme);
});

test("5 Signed out elsewhere: a sign-in that was ended elsewhere is renewed in place, and what was pressed happens once", async () => {
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page, open } = dashboard;
  await open("/hosts");
  await page.getByRole("button", { name: "Pair a host" }).click();
  await page.getByLabel("Name").fill("pressed once");
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Make the command" }).click();
  const dialog = page.getByRole("dialog", { name: "You are signed out" });
  await dialog.getByLabel("Password").fill(password);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Waiting for the machine").waitFor();
  const { instances } = await world.caller.search_instances({ query: "pressed once" });
  assert.equal(instances.length, 1);
});
