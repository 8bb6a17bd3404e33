// Exposures at host names of their own, behind a proxy that ends TLS, in a browser: hot reload and cookies.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { openBrowser } from "@hawser/testkit/browser.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startTlsProxy } from "@hawser/testkit/tls-proxy.ts";
import { writeViteProject } from "@hawser/testkit/vite-project.ts";
import { hotReloadOf, runServer } from "../preview-steps.ts";
import { scenario, useWorld } from "../scenario.ts";
import { startSession, worktreeOf } from "../session-steps.ts";

const domain = "exposures.example";
const ports = { listen: await freePort(), forwardTo: await freePort() };
let proxy: AsyncDisposable;

before(async () => {
  proxy = await startTlsProxy(domain, ports);
});
useWorld({
  agents: true,
  hosts: 1,
  environment: {
    HAWSER_EXPOSURE_DOMAIN: `${domain}:${ports.listen}`,
    HAWSER_EXPOSURE_LISTEN: `127.0.0.1:${ports.forwardTo}`,
  },
});
after(() => proxy[Symbol.asyncDispose]());

const ttlMinutes = 60;

scenario(
  "A real Vite at a host name shows an edit by hot reload",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId, worktreeBranch } = await startSession(caller, host);
    const recordFile = join(dirname(host.stateDirectory), "vite-requests");
    const project = writeViteProject(worktreeOf(host, worktreeBranch!), recordFile);
    const port = await freePort();
    await runServer(caller, sessionId, port, project.command(port));
    const preview = await caller.create_preview({ sessionId, port, ttlMinutes });
    const { protocol, host: name } = new URL(preview.url);
    assert.equal(protocol, "https:");
    assert.ok(name.endsWith(`.${domain}:${ports.listen}`), name);
    await using browser = await openBrowser(preview, { domain });
    const { page, errors } = browser;
    const connected = hotReloadOf(page);
    await page.goto(preview.url);
    await page.getByText("As it was", { exact: true }).waitFor();
    await connected;
    await page.evaluate("globalThis.mark = 'kept'");
    project.write("Changed");
    await page.getByText("Changed", { exact: true }).waitFor();
    assert.equal(await page.evaluate("globalThis.mark"), "kept");
    assert.deepEqual(errors, []);
    await caller.end_session({ sessionId });
  },
);

/** Sets cookies at `/`, and answers with those that it receives elsewhere. */
const serve = (port: number) =>
  `exec '${process.execPath}' -e 'require("node:http").createServer(({ url, headers }, answer) => {
    if (url !== "/") return answer.end("cookies: " + (headers.cookie ?? "none"));
    answer.setHeader("set-cookie", [
      "signedIn=1; HttpOnly; Secure; SameSite=Lax",
      "__Host-own=2; Secure; Path=/",
      "wide=3; Secure; Domain=${domain}",
    ]);
    answer.end("set");
  }).listen(${port}, "127.0.0.1")'`;

scenario(
  "A server of a session gets its cookies back from a browser, and the server of another preview gets none",
  [],
  async ({ world, caller }) => {
    const previews = [];
    for (let i = 0; i < 2; i++) {
      const { sessionId } = await startSession(caller, world.hosts[0]!);
      const port = await freePort();
      await runServer(caller, sessionId, port, serve(port));
      previews.push(await caller.create_preview({ sessionId, port, ttlMinutes }));
    }
    const [own, other] = previews as [(typeof previews)[0], (typeof previews)[0]];
    await using browser = await openBrowser(own, { domain });
    const { page } = browser;
    await page.goto(own.url);
    await page.goto(`${own.url}seen`);
    const seen = await page.textContent("body");
    assert.deepEqual(seen?.replace("cookies: ", "").split("; ").toSorted(), [
      "__Host-own=2",
      "signedIn=1",
      "wide=3",
    ]);
    // A domain without a dot at its beginning: the cookie is for this host name only.
    const host = new URL(own.url).hostname;
    const kept = (await page.context().cookies()).map(({ name, domain, secure, httpOnly }) =>
      [name, domain, secure ? "Secure" : "", httpOnly ? "HttpOnly" : ""].join(" ").trim(),
    );
    assert.deepEqual(kept.toSorted(), [
      `__Host-own ${host} Secure`,
      `signedIn ${host} Secure HttpOnly`,
      `wide ${host} Secure`,
    ]);
    const readable = String(await page.evaluate("document.cookie"));
    assert.deepEqual(readable.split("; ").toSorted(), ["__Host-own=2", "wide=3"]);
    // The same browser with the login of the other preview.
    await page.context().setHTTPCredentials(other);
    await page.goto(`${other.url}seen`);
    assert.equal(await page.textContent("body"), "cookies: none");
    for (const { sessionId } of previews) await caller.end_session({ sessionId: sessionId! });
  },
);
