// Accessibility of every page, in both themes, on a desk and on a phone. Nothing scrolls sideways.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDashboard } from "@hawser/testkit/dashboard.ts";
import { makeOwnerLink } from "@hawser/testkit/owner-link.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { findNothing, looks } from "./axe.ts";

let world: World;
let paired: string;
before(async () => {
  world = await startWorld({ nodes: 1, nats: 1, hosts: 1, named: true });
  paired = world.hosts[0]!.instanceId;
  await world.caller.create_instance({ name: "a-name-".repeat(11) });
});
after(() => world[Symbol.asyncDispose]());

/** The page on which a person lets a program have a key. */
async function askForKey(name: string): Promise<string> {
  const response = await fetch(`${world.baseUrl}/api/sign-in/device/begin`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name }),
    signal: AbortSignal.timeout(10_000),
  });
  const { verificationUrl } = (await response.json()) as { verificationUrl: string };
  const { pathname, search } = new URL(verificationUrl);
  return pathname + search;
}

for (const { width, theme } of looks) {
  test(`pages at ${width} pixels in ${theme} have no finding`, async () => {
    await using dashboard = await openDashboard(world, { role: "owner", width, theme });
    const { page, open } = dashboard;
    const see = async (what: string, text: string) => {
      await page.getByText(text).first().waitFor();
      await findNothing(page, what);
    };
    await open("/hosts");
    await see("/hosts", "Machines where agents run.");
    await page.getByRole("button", { name: "Pair a host" }).click();
    await see("naming a host", "How people will call the machine here.");
    await page.getByLabel("Name").fill("one more");
    await page.getByRole("button", { name: "Make the command" }).click();
    await see("pairing", "Waiting for the machine");
    await open(`/hosts/${paired}`);
    await see("a host", "Set in the host's own policy file.");
    await page.getByRole("button", { name: "Host actions" }).click();
    await see("a menu", "New pairing command");
    await open("/nowhere");
    await see("an unknown page", "Nothing is at this address");
    await open("/device");
    await see("typing a code", "Eight letters, as your program shows them.");
    await open(await askForKey("hawser on a laptop"));
    await see("a program", "A program asks for a key, to work as you.");
    await open("/hosts");
    await page
      .getByRole("button", { name: width < 720 ? "More" : `${dashboard.email}, account` })
      .click();
    await page.getByRole("menuitem", { name: "Sign in on your phone" }).click();
    await see("letting a phone in", "which is only this machine");
    await page.getByRole("button", { name: "Make the link" }).click();
    await see("a link for a phone", "Digits on your phone");
    const phoneLink = new URL((await page.getByText(/\/phone#/).textContent())!);
    await page.goto("about:blank");
    await open(phoneLink.pathname + phoneLink.hash);
    await see("a phone", "Type these digits in the browser");
    const { url } = await world.caller.create_invitation({
      email: `axe-${width}-${theme}@people.example`,
      role: "viewer",
    });
    await page.context().clearCookies();
    await page.goto("about:blank");
    await open(`/invite${new URL(url).hash}`);
    await see("an invitation", "Choose a password");
    await open("/sign-in");
    await see("/sign-in", "Sign in to Hawser");
    await open(await makeOwnerLink(world, "ada@acme.example"));
    await see("an owner's link", "This link signs you in");
    assert.deepEqual(dashboard.violations, []);
  });
}
