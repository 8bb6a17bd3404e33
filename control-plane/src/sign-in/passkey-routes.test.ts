// Passkeys and cookies in a real browser, with Chromium's virtual authenticator.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openBrowser, type BrowserPage } from "@hawser/testkit/browser.ts";
import { createCaller } from "@hawser/testkit/caller.ts";
import {
  startControlPlaneNode,
  type ControlPlaneNode,
} from "@hawser/testkit/control-plane-node.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { createTestOrganization, type TestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { openTestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import { addVirtualAuthenticator } from "@hawser/testkit/virtual-authenticator.ts";

const password = "correct horse battery";
const email = "pat@people.example";
let service: ServiceDatabase;
let acme: TestOrganization;
let node: ControlPlaneNode;
let origin: string;
const directory = mkdtempSync(join(tmpdir(), "hawser-passkeys-"));

before(async () => {
  service = await openServiceDatabase();
  acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  const masterKeyFile = join(directory, "master-key");
  writeFileSync(masterKeyFile, randomBytes(32).toString("hex"));
  const port = await freePort();
  // A passkey belongs to a name, not to an address.
  origin = `http://localhost:${port}`;
  node = await startControlPlaneNode({
    databaseUrl: service.url,
    masterKeyFile,
    port,
    environment: { HAWSER_BASE_URL: origin },
  });
});
after(async () => {
  await node?.[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** Sends a request as a script of the page does. */
const send = (
  page: BrowserPage["page"],
  path: string,
  body?: object,
  headers: Record<string, string> = {},
) =>
  page.evaluate(
    async ([path, body, headers]) => {
      const response = await fetch(path, {
        ...(body && { method: "POST", body: JSON.stringify(body) }),
        headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      });
      return { status: response.status, body: (await response.json()) as any };
    },
    [path, body, headers] as const,
  );

test("a person adds a passkey, signs in with it once, and removes it", async () => {
  await using browser = await openBrowser({ username: "", password: "" });
  const { page } = browser;
  await page.goto(`${origin}/healthz`);
  const device = await addVirtualAuthenticator(page);
  const caller = createCaller(node.baseUrl, acme.keys.owner);
  const { url } = await caller.create_invitation({ email, role: "member" });
  const invitation = new URL(url).hash.slice(1);
  const accepted = await send(page, "/api/sign-in/invitations/accept", { invitation, password });
  assert.equal(accepted.status, 200);
  // The browser keeps the cookies of http://localhost, and sends them with the page's requests only.
  const organization = { "x-hawser-organization": acme.organizationId };
  const me = await send(page, "/api/rest/actions/whoami", {}, organization);
  assert.equal(me.status, 200);
  assert.equal(await page.evaluate("document.cookie"), "");

  const begun = await send(page, "/api/sign-in/passkeys/begin", {});
  const made = await device.register(begun.body.options as object);
  const added = await send(page, "/api/sign-in/passkeys/add", { response: made });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  const again = await send(page, "/api/sign-in/passkeys/add", { response: made });
  assert.equal(again.status, 401, "a challenge is answered once");
  const listed = await send(page, "/api/sign-in");
  assert.deepEqual(
    listed.body.passkeys.map(({ passkeyId }: { passkeyId: string }) => passkeyId),
    [added.body.passkeyId],
  );

  await send(page, "/api/sign-in/out", {});
  assert.equal((await send(page, "/api/sign-in")).status, 401);
  const options = async () => (await send(page, "/api/sign-in/passkey/begin", {})).body.options;
  const response = await device.signIn(await options());
  const signedIn = await send(page, "/api/sign-in/passkey", { response });
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body));
  assert.equal((await send(page, "/api/sign-in/passkey", { response })).status, 401);
  const now = await send(page, "/api/rest/actions/list_sign_ins", {}, organization);
  assert.deepEqual(
    now.body.result.signIns.map(({ way }: { way: string }) => way),
    ["passkey"],
  );

  // A response for another challenge, and a device that its owner does not unlock.
  await options();
  assert.equal((await send(page, "/api/sign-in/passkey", { response })).status, 401);
  // What gives lasting access needs a fresh sign-in (N27).
  await ownerSql(
    service.url,
    "UPDATE sign_in.sign_ins SET authenticated_at = now() - interval '6 minutes'",
  );
  for (const path of ["passkeys/begin", "passkeys/remove"]) {
    const reply = await send(
      page,
      `/api/sign-in/${path}`,
      path.endsWith("remove") ? { passkeyId: "x" } : {},
    );
    assert.equal(reply.body.error.code, "sign_in_again", path);
  }
  const fresh = await device.signIn(await options());
  assert.equal((await send(page, "/api/sign-in/passkey", { response: fresh })).status, 200);
  const { passkeyId } = added.body as { passkeyId: string };
  const removed = await send(page, "/api/sign-in/passkeys/remove", { passkeyId });
  assert.deepEqual(removed.body, { passkeyId, removed: true });
  const orphan = await device.signIn(await options());
  assert.equal((await send(page, "/api/sign-in/passkey", { response: orphan })).status, 401);
});

test("sign-ins that strangers begin store nothing", async () => {
  const count = async () =>
    (
      await ownerSql<{ count: number }>(
        service.url,
        "SELECT count(*)::int AS count FROM sign_in.spent_challenges",
      )
    )[0]!.count;
  const before = await count();
  const stranger = openTestBrowser(origin);
  assert.equal((await stranger.send("/api/sign-in/passkey/begin", {})).status, 200);
  assert.equal((await stranger.send("/api/sign-in/passkey", { response: {} })).status, 401);
  assert.equal(await count(), before);
});

test("a page of another origin gets nothing from the browser's sign-in (N24, N25)", async () => {
  await using browser = await openBrowser({ username: "", password: "" });
  const { page } = browser;
  await page.goto(`${origin}/healthz`);
  const signedIn = await send(page, "/api/sign-in/password", { email, password });
  assert.equal(signedIn.status, 200);
  // The same machine under its address: another site for the browser.
  await page.goto(`${node.baseUrl}/healthz`);
  const statuses = await page.evaluate(
    async ([origin, organizationId]: [string, string]) => {
      const tries: RequestInit[] = [
        { mode: "no-cors", method: "POST", body: "{}", headers: { "content-type": "text/plain" } },
        { mode: "cors", method: "POST", body: "{}", headers: { "content-type": "text/plain" } },
        {
          mode: "cors",
          method: "POST",
          body: "{}",
          headers: { "content-type": "application/json", "x-hawser-organization": organizationId },
        },
      ];
      const seen = [];
      for (const each of tries) {
        seen.push(
          await fetch(`${origin}/api/rest/actions/create_instance`, {
            ...each,
            credentials: "include",
          })
            .then(({ type }) => type)
            .catch(() => "blocked"),
        );
      }
      return seen;
    },
    [origin, acme.organizationId] as [string, string],
  );
  assert.deepEqual(statuses, ["opaque", "blocked", "blocked"]);
  const caller = createCaller(node.baseUrl, acme.keys.owner);
  assert.deepEqual((await caller.list_instances({})).instances, []);
});
