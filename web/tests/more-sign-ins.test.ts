// The pages of owners' links, of programs that ask for a key, and of phones, in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDashboard, password, type Dashboard } from "@hawser/testkit/dashboard.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { startOidcProvider, type OidcProvider } from "@hawser/testkit/oidc-provider.ts";
import { makeOwnerLink } from "@hawser/testkit/owner-link.ts";
import { addVirtualAuthenticator } from "@hawser/testkit/virtual-authenticator.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

let world: World;
let provider: OidcProvider;
before(async () => {
  const environment = { HAWSER_WEBHOOK_NETWORKS: "127.0.0.1/32" };
  world = await startWorld({ nodes: 1, nats: 1, named: true, environment });
});
after(async () => {
  await provider?.[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const program = async (path: string, body: object): Promise<Record<string, string>> => {
  const response = await fetch(`${world.baseUrl}/api/sign-in/device/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  return (await response.json()) as Record<string, string>;
};

test("an owner's link sets a password and offers a passkey, and is not good a second time", async () => {
  await using dashboard = await openDashboard(world);
  const { page, open } = dashboard;
  await addVirtualAuthenticator(page);
  const link = await makeOwnerLink(world, "ada@acme.example");
  await open(link);
  await page.getByRole("heading", { name: "Acme" }).waitFor();
  await page.getByText("This link signs you in as ada@acme.example").waitFor();
  await page.getByLabel("Choose a password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("No hosts yet").waitFor();
  await page.goto("about:blank");
  await open(link);
  await page.getByText("This link was used, is older than 15 minutes").waitFor();
  assert.equal(await page.getByLabel("Choose a password").count(), 0);
  assert.deepEqual(dashboard.violations, []);
});

test("a link that is replaced while its page is open says so", async () => {
  await using dashboard = await openDashboard(world);
  const { page, open } = dashboard;
  await open(await makeOwnerLink(world, "grace@globex.example"));
  await page.getByLabel("Choose a password").fill(password);
  await makeOwnerLink(world, "grace@globex.example");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("was replaced by a later one").waitFor();
});

test("a program gets a key of the person who signs in and approves its code", async () => {
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page, email, open } = dashboard;
  await page.context().clearCookies();
  const asked = await program("begin", { name: "hawser\u202e on laptop" });
  const { pathname, search } = new URL(asked["verificationUrl"]!);
  await open(pathname + search);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Let a program in" }).waitFor();
  await page.getByText(asked["userCode"]!).waitFor();
  await page.getByText("on laptop").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page
    .getByText("Approved. The program goes on by itself. You can close this page.")
    .waitFor();
  const { state, key } = await program("poll", { deviceCode: asked["deviceCode"]! });
  assert.equal(state, "approved");
  await world.callerFor(key!).whoami({});
  assert.deepEqual(dashboard.violations, []);
});

test("a person with several organizations chooses the one that the key is for", async () => {
  const [acme, globex] = world.organizations;
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page, email, open } = dashboard;
  const byGlobex = world.callerFor(globex.keys.owner);
  const { url } = await byGlobex.create_invitation({ email, role: "owner" });
  await open(`/invite${new URL(url).hash}`);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByText("No hosts yet").waitFor();
  const asked = await program("begin", { name: "hawser" });
  await open(`/device?code=${asked["userCode"]}`);
  const choice = page.getByLabel("Organization");
  // The one that the person used most recently.
  assert.equal(await choice.inputValue(), globex.organizationId);
  await choice.selectOption("Acme");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("You can close this page.").waitFor();
  const { key } = await program("poll", { deviceCode: asked["deviceCode"]! });
  const { organization } = await world.callerFor(key!).whoami({});
  assert.equal(organization.organizationId, acme.organizationId);
});

test("a typed code is refused after a fresh sign-in, and unknown codes can be typed again", async () => {
  await using dashboard = await openDashboard(world, { role: "viewer" });
  const { page, open } = dashboard;
  await ownerSql(
    world.database.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '6 minutes'",
  );
  await open("/device");
  await page.getByLabel("Code").fill("bcdf ghjk");
  await page.getByRole("button", { name: "Go on" }).click();
  const fresh = page.getByRole("dialog", { name: "Confirm who you are" });
  await fresh.getByLabel("Password").fill(password);
  await fresh.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("No program waits with this code").waitFor();
  const asked = await program("begin", { name: "hawser" });
  await page.getByLabel("Code").fill(asked["userCode"]!.toLowerCase().replace("-", " "));
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByText("The program gets no key. You can close this page.").waitFor();
  const { state } = await program("poll", { deviceCode: asked["deviceCode"]! });
  assert.equal(state, "refused");
});

/** Opens the dialog, and returns the path of the phone's page. */
async function makePhoneLink({ page, email, open }: Dashboard): Promise<string> {
  await open("/hosts");
  await page.getByRole("button", { name: `${email}, account` }).click();
  await page.getByRole("menuitem", { name: "Sign in on your phone" }).click();
  await page.getByText("which is only this machine").waitFor();
  await page.getByRole("button", { name: "Make the link" }).click();
  return readLink(page);
}

async function readLink(page: Dashboard["page"]): Promise<string> {
  const text = await page.getByText(/\/phone#/).textContent();
  const { pathname, hash } = new URL(text!);
  return pathname + hash;
}

test("a phone signs in with the digits that it shows", async () => {
  await using desk = await openDashboard(world, { role: "owner" });
  await using phone = await openDashboard(world, { width: 390, theme: "dark" });
  const link = await makePhoneLink(desk);
  await desk.page.getByLabel("Digits on your phone").fill("0000");
  await desk.page.getByRole("button", { name: "Let it in" }).click();
  await desk.page.getByText("No phone has opened the link yet.").waitFor();
  await phone.open(link);
  const digits = await phone.page.locator("output").textContent();
  await desk.page.getByLabel("Digits on your phone").fill(digits!);
  await desk.page.getByRole("button", { name: "Let it in" }).click();
  await desk.page.getByText("Your phone signs in by itself.").waitFor();
  await phone.page.getByText("No hosts yet").waitFor();
  await phone.page.goto("about:blank");
  await phone.open(link);
  await phone.page.getByText("This link was opened before").waitFor();
  assert.deepEqual([...desk.violations, ...phone.violations], []);
});

test("three wrong digits end the link on both sides, and another link can be made", async () => {
  await using desk = await openDashboard(world, { role: "owner" });
  await using phone = await openDashboard(world, { width: 390 });
  await phone.open(await makePhoneLink(desk));
  const digits = await phone.page.locator("output").textContent();
  const wrong = digits === "0000" ? "1111" : "0000";
  for (const after of ["2 more times", "once more", "The link is over"]) {
    await desk.page.getByLabel("Digits on your phone").fill(wrong);
    await desk.page.getByRole("button", { name: "Let it in" }).click();
    await desk.page.getByText(after).waitFor();
  }
  await phone.page.getByText("wrong ones were typed").waitFor();
  await desk.page.getByRole("button", { name: "Make the link" }).click();
  assert.match(await readLink(desk.page), /^\/phone#hwf_/);
});

test("single sign-on that has failed says why", async () => {
  await using dashboard = await openDashboard(world);
  await dashboard.open("/sign-in?error=not_invited");
  await dashboard.page.getByText("You are not a member of this organization.").waitFor();
});

test("a sign-in with a provider is renewed beside the page, which keeps what was typed", async () => {
  const { redirectUri } = await world.caller.get_sign_in_settings({});
  provider = await startOidcProvider({ redirectUris: [redirectUri] });
  const { issuer, clientId, clientSecret } = provider;
  const groupRoles = [{ group: "engineers", role: "member" }];
  const settings = { issuer, clientId, clientSecret, groupsClaim: "groups", groupRoles };
  await world.caller.update_sign_in_settings(settings);
  const claims = { email: "pat@people.example", email_verified: true, groups: ["engineers"] };
  provider.person = { subject: "pat", claims };
  await using dashboard = await openDashboard(world);
  const { page, open } = dashboard;
  await open(`/sign-in?organization=${world.organizations[0].organizationId}`);
  await page.getByRole("button", { name: "Continue with single sign-on" }).click();
  await page.getByText("No hosts yet").waitFor();
  await open("/device");
  await page.evaluate(`globalThis.isSamePage = true`);
  for (const [column, title, code] of [
    ["authenticated_at = now() - interval '6 minutes'", "Confirm who you are", "bcdf ghjk"],
    ["ended_at = now()", "You are signed out", "ghjk bcdf"],
  ] as const) {
    await ownerSql(
      world.database.url,
      `UPDATE sign_in.sign_ins SET ${column} WHERE way = 'provider' AND ended_at IS NULL`,
    );
    await page.getByLabel("Code").fill(code);
    await page.getByRole("button", { name: "Go on" }).click();
    const dialog = page.getByRole("dialog", { name: title });
    await dialog.getByRole("button", { name: "Continue with single sign-on" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("No program waits with this code").waitFor();
  }
  // Somebody else is signed in at the provider, which asks the second time.
  await page.context().clearCookies();
  const pat = provider.person;
  provider.person = { subject: "lee", claims: { ...claims, email: "lee@people.example" } };
  await page.getByLabel("Code").fill("bcdf bcdf");
  await page.getByRole("button", { name: "Go on" }).click();
  const dialog = page.getByRole("dialog", { name: "You are signed out" });
  const goOn = dialog.getByRole("button", { name: "Continue with single sign-on" });
  await goOn.click();
  await dialog.getByText("Another person is signed in than the one who began.").waitFor();
  provider.person = pat;
  await goOn.click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("No program waits with this code").waitFor();
  assert.equal(await page.evaluate(`globalThis.isSamePage`), true);
  assert.deepEqual(dashboard.violations, []);
});

test("where single sign-on is required, members connect it, and invited people join with it", async () => {
  const { caller } = world;
  const { members } = await caller.list_members({});
  const ada = members.find(({ email }) => email === "ada@acme.example")!;
  await caller.update_sign_in_settings({ required: true, exceptUserIds: [ada.userId] });
  const invite = async (email: string) => {
    const { url } = await caller.create_invitation({ email, role: "member" });
    const { pathname, hash } = new URL(url);
    provider.person = { subject: email, claims: { email, email_verified: true } };
    return pathname + hash;
  };
  await using dashboard = await openDashboard(world);
  const { page, open } = dashboard;
  const goOn = page.getByRole("button", { name: "Continue with single sign-on" });
  await open(await invite("sam@people.example"));
  await page.getByLabel("Choose a password").fill(password);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByRole("heading", { name: "Your organization asks for single sign-on" }).waitFor();
  // The provider leads back to the same address, which shows the same page until the person has signed in with it.
  const isBack = page
    .waitForResponse((response) => response.url().includes("/api/sign-in/provider/callback"))
    .then(() => page.waitForEvent("domcontentloaded"));
  await page.getByRole("button", { name: "Connect it to this account" }).click();
  await isBack;
  await goOn.click();
  await page.getByText("No hosts yet").waitFor();
  await page.getByRole("button", { name: "sam@people.example, account" }).click();
  const signOut = page.getByRole("menuitem", { name: "Sign out" });
  await signOut.waitFor();
  // The service refuses it: the provider signs in the person's devices.
  assert.equal(await page.getByRole("menuitem", { name: "Sign in on your phone" }).count(), 0);
  await signOut.click();
  await goOn.waitFor();
  await page.context().clearCookies();
  await open(await invite("kit@people.example"));
  await goOn.click();
  await page.getByRole("button", { name: "kit@people.example, account" }).waitFor();
  assert.deepEqual(dashboard.violations, []);
});
