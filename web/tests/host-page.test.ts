// The page of one host, with records that a test writes: agents, accounts, the order of agents, kept files and pairing.
// What real hosts answer is in hosts.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findNothing, findNothingInDialog } from "./axe.ts";
import { account, host, instanceId, openHost, operation, times } from "./faked-hosts.ts";

type Opened = Awaited<ReturnType<typeof openHost>>;

const inputsOf = ({ calls }: Opened, action: string) =>
  calls.filter((call) => call.action === action).map(({ input }) => input);
const line = ({ page }: Opened, text: string) =>
  page.locator(".group > .line").filter({ hasText: text });

test("3.1 Agents are installed, updated and restarted by kind, and show the work on them live", async () => {
  await using faked = await openHost();
  const { page, shown, answers } = faked;
  shown.agents[0] = { ...shown.agents[0]!, installed: false, version: null, ready: false };
  for (const action of ["update_opencode", "update_agent_kind"]) {
    answers[action] = () => ({ instanceId, status: "in_progress", version: "2", message: "" });
  }
  await faked.openPage();
  await line(faked, "opencode").getByText("Not installed").first().waitFor();
  await page.getByRole("button", { name: "Install opencode" }).click();
  shown.operations = [operation({ subject: "opencode 1.18.33", percent: 42 })];
  await page.getByRole("button", { name: "Update claude_code" }).click();
  await line(faked, "opencode").first().getByText("downloading, 42 %").waitFor();
  assert.ok(await page.getByRole("button", { name: "Install opencode" }).isDisabled());
  assert.deepEqual(inputsOf(faked, "update_opencode"), [{ instanceId }]);
  assert.deepEqual(inputsOf(faked, "update_agent_kind"), [{ instanceId, kind: "claude_code" }]);

  // A restart says before what it interrupts.
  answers["restart_agent_kind"] = () => ({
    instanceId,
    kind: "claude_code",
    detachedSessionIds: [],
  });
  await page.getByRole("button", { name: "Restart claude_code" }).click();
  const dialog = page.getByRole("dialog", { name: "Restart Claude Code on builder-fra-2?" });
  await dialog.getByText("1 session uses it. A turn that runs is interrupted.").waitFor();
  assert.deepEqual(inputsOf(faked, "restart_agent_kind"), []);
  await dialog.getByRole("button", { name: "Restart" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(inputsOf(faked, "restart_agent_kind"), [{ instanceId, kind: "claude_code" }]);

  // The daemon, and what the host says of itself.
  answers["update_agent"] = () => ({
    instanceId,
    status: "installed",
    version: "1.4.0",
    message: "",
  });
  await page.getByRole("button", { name: "Update the daemon" }).click();
  await page.getByText("This is the version that the service publishes.").waitFor();
  answers["refresh_instance"] = () => shown;
  await page.getByRole("button", { name: "Host actions" }).click();
  const inspected = page.waitForResponse(/refresh_instance/);
  await page.getByRole("menuitem", { name: "Inspect again" }).click();
  await inspected;
  assert.deepEqual(inputsOf(faked, "refresh_instance"), [{ instanceId }]);
  assert.deepEqual(faked.errors, []);
});

test("3.2 An agent without a login of the person says so with the diamond, and leads to the login", async () => {
  await using faked = await openHost();
  const { page } = faked;
  await faked.openPage();
  const codex = line(faked, "0.166.0");
  await codex.getByRole("img", { name: "Not signed in" }).waitFor();
  await codex.getByText("Cannot start for you: you are not signed in to Codex").waitFor();
  await line(faked, "2.1.197").getByText("Your sessions use your account.").waitFor();
  await page.getByText("expires in 3 days").waitFor();
  assert.match((await page.getByText("expires in 3 days").getAttribute("class"))!, /\bamber\b/);
});

const attempt = {
  loginId: "log_1",
  instanceId,
  kind: "codex",
  flow: "device_code",
  authorizationUrl: "https://auth.openai.example/device",
  userCode: "K7RD-2QXM" as string | null,
  status: "pending",
  error: null as string | null,
  account: null as string | null,
  expiresAt: null,
};

test("4.1 Logins: a device code is shown large, and the dialog follows the login until it is done", async () => {
  await using faked = await openHost();
  const { page, answers } = faked;
  const now = { ...attempt };
  answers["start_agent_login"] = () => attempt;
  answers["poll_agent_login"] = () => now;
  await faked.openPage();
  await page.getByRole("button", { name: "Sign in to Codex" }).click();
  const dialog = page.getByRole("dialog", { name: "Sign in to Codex on builder-fra-2" });
  await dialog.getByText("K7RD-2QXM").waitFor();
  await dialog.getByText("Waiting for the login").waitFor();
  const link = dialog.getByRole("link", { name: "Open auth.openai.example" });
  assert.equal(await link.getAttribute("href"), attempt.authorizationUrl);
  assert.match((await link.getAttribute("rel"))!, /noopener/);
  const listed = inputsOf(faked, "list_agent_identities").length;
  Object.assign(now, { status: "done", account: "mira@tidewater.example" });
  await dialog.getByText("You are signed in as mira@tidewater.example.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  assert.ok(inputsOf(faked, "list_agent_identities").length > listed);
  const polls = inputsOf(faked, "poll_agent_login");
  assert.ok(polls.length >= 1 && polls.every(({ loginId }) => loginId === "log_1"));
});

test("4.1 Logins: a pasted code is sent at once, and a wrong one ends the attempt and offers another", async () => {
  await using faked = await openHost();
  const { page, answers } = faked;
  let begun = 0;
  answers["start_agent_login"] = () => ({
    ...attempt,
    loginId: `log_${++begun}`,
    flow: "paste_code",
    // The address comes from the host, so it can be anything.
    authorizationUrl: begun === 1 ? "https://claude.example/login" : "javascript:alert(1)",
    userCode: null,
  });
  answers["poll_agent_login"] = () => ({ ...attempt, flow: "paste_code", userCode: null });
  answers["submit_agent_login"] = ({ code }) => ({
    ...attempt,
    flow: "paste_code",
    ...(code === "right"
      ? { status: "done", account: "mira@tidewater.example" }
      : { status: "error", error: "The code is wrong." }),
  });
  await faked.openPage();
  await page.getByRole("button", { name: "Sign in to Codex" }).click();
  const dialog = page.getByRole("dialog");
  const paste = (text: string) =>
    dialog.getByLabel("Code from the page").evaluate((field, pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", pasted);
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    }, text);
  await dialog.getByRole("link", { name: "Open claude.example" }).waitFor();
  await paste(" wrong\n");
  await dialog.getByText("This attempt is over.").waitFor();
  await dialog.getByText("The code is wrong.").waitFor();
  assert.deepEqual(inputsOf(faked, "submit_agent_login"), [{ loginId: "log_1", code: "wrong" }]);
  await dialog.getByRole("button", { name: "New attempt" }).click();
  await dialog.getByText("javascript:alert(1)").waitFor();
  assert.equal(await dialog.getByRole("link").count(), 0);
  await paste("right");
  await dialog.getByText("You are signed in as mira@tidewater.example.").waitFor();
  assert.equal(inputsOf(faked, "submit_agent_login").at(-1)!["loginId"], "log_2");
});

test("a key is sealed in the browser: the service sees neither it nor what it could be opened with", async () => {
  await using faked = await openHost();
  const { page, answers } = faked;
  const { publicKey, privateKey } = await crypto.subtle.generateKey(
    {
      name: "RSA-OAEP",
      hash: "SHA-256",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    },
    true,
    ["encrypt", "decrypt"],
  );
  const { kty, n, e } = await crypto.subtle.exportKey("jwk", publicKey);
  const sealingKey = { kty, n, e, alg: "RSA-OAEP-256", use: "enc" };
  answers["list_agent_identities"] = () => ({
    identities: [account],
    separated: false,
    sealingKey,
    live: true,
    takenAt: times.ago(0),
  });
  answers["link_agent_identity"] = () => ({ ...account, kind: "codex", way: "gateway" });
  await faked.openPage();
  await page.getByRole("button", { name: "Actions for Codex" }).click();
  await page.getByRole("menuitem", { name: "Use a key or a gateway" }).click();
  const dialog = page.getByRole("dialog", { name: "Use a key for Codex on builder-fra-2" });
  assert.equal(await dialog.getByLabel("Google Vertex AI").count(), 0);
  await dialog.getByLabel("Gateway", { exact: true }).check();
  await dialog.getByLabel("Address of the gateway").fill("https://models.tidewater.example/v1");
  await dialog.getByLabel("Key of the gateway").fill("sk-secret-4f2c");
  await dialog.getByRole("button", { name: "Link" }).click();
  await dialog.waitFor({ state: "detached" });
  const [sent] = inputsOf(faked, "link_agent_identity");
  const { sealedSecret, ...named } = sent as Record<string, string>;
  const baseUrl = "https://models.tidewater.example/v1";
  assert.deepEqual(named, { instanceId, kind: "codex", way: "gateway", baseUrl });
  assert.ok(!JSON.stringify(faked.calls).includes("sk-secret"));
  const [header, wrapped, iv, text, tag] = sealedSecret!.split(".");
  const bytes = (part: string | undefined) => new Uint8Array(Buffer.from(part!, "base64url"));
  const raw = await crypto.subtle.decrypt("RSA-OAEP", privateKey, bytes(wrapped));
  const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["decrypt"]);
  const opened = await crypto.subtle.decrypt(
    { name: "AES-GCM", iv: bytes(iv), additionalData: new TextEncoder().encode(header) },
    key,
    new Uint8Array([...bytes(text), ...bytes(tag)]),
  );
  assert.deepEqual(JSON.parse(new TextDecoder().decode(opened)), {
    userId: "usr_1",
    kind: "codex",
    way: "gateway",
    baseUrl,
    secret: "sk-secret-4f2c",
  });
});

test("an account is unlinked only after the dialog has said what goes with it", async () => {
  await using faked = await openHost();
  const { page, answers } = faked;
  answers["unlink_agent_identity"] = () => ({ instanceId, kind: "claude_code", unlinked: true });
  await faked.openPage();
  await page.getByRole("button", { name: "Actions for Claude Code" }).click();
  await page.getByRole("menuitem", { name: "Unlink" }).click();
  const dialog = page.getByRole("dialog", { name: "Unlink Claude Code on builder-fra-2?" });
  await dialog.getByText("with its credentials and transcripts").waitFor();
  await dialog.getByRole("button", { name: "Unlink" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(inputsOf(faked, "unlink_agent_identity"), [{ instanceId, kind: "claude_code" }]);
});

test("8 The order of agents is changed with keys, says where each one went, and keeps the focus", async () => {
  await using faked = await openHost();
  const { page, answers } = faked;
  answers["set_fallback_chain"] = () => ({ instanceId, fallbackChain: [], fallbackThreshold: 80 });
  answers["list_models"] = () => ({
    agentKind: "codex",
    providers: [{ providerId: "openai", models: [{ modelId: "gpt-5.2-codex", variants: [] }] }],
    defaultModel: null,
  });
  await faked.openPage();
  await page.getByRole("button", { name: "Change" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("listitem", { name: "codex, 2 of 3" }).focus();
  await page.keyboard.press("Alt+ArrowUp");
  await dialog.getByText("Moved to 1 of 3").waitFor();
  await page.keyboard.press("Alt+ArrowUp");
  await page.keyboard.press("Alt+ArrowDown");
  await dialog.getByText("Moved to 2 of 3").waitFor();
  const focused = page.locator(":focus");
  assert.equal(await focused.getAttribute("aria-label"), "codex, 2 of 3");
  await dialog.getByRole("button", { name: "Move codex up" }).click();
  await dialog.getByRole("button", { name: "gpt-5.1-codex" }).click();
  await page.getByRole("menuitemradio", { name: "openai / gpt-5.2-codex" }).click();
  await dialog.getByRole("button", { name: "Remove opencode" }).click();
  await dialog.getByLabel("Percent of a quota").fill("80");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(inputsOf(faked, "set_fallback_chain"), [
    {
      instanceId,
      chain: [
        { kind: "codex", providerId: "openai", modelId: "gpt-5.2-codex" },
        { kind: "claude_code", providerId: null, modelId: null },
      ],
      threshold: 80,
    },
  ]);
  assert.deepEqual(faked.errors, []);
});

test("4.1 Restore makes a new session, and the button says so", async () => {
  await using faked = await openHost();
  const { page, answers } = faked;
  const listed = answers["list_parked_sessions"]!({}) as object;
  // The list, without the session, is read again before the page follows the answer.
  answers["restore_session"] = () => {
    answers["list_parked_sessions"] = () => ({ ...listed, parkedSessions: [] });
    return { sessionId: "ses_1" };
  };
  await faked.openPage();
  await page
    .getByText("a new session with the old files and branch, and a new conversation")
    .waitFor();
  await line(faked, "Spike: batch SEPA files").getByText("48.3 MB, kept until 25 Nov").waitFor();
  await page.getByRole("button", { name: "Restore in a new session" }).click();
  await page.waitForURL("**/sessions/ses_1");
  assert.deepEqual(inputsOf(faked, "restore_session"), [{ sessionId: "ses_old" }]);
});

test("5 An offline host shows what it reported last, never as ready, and what needs it rests with the reason", async () => {
  await using faked = await openHost();
  const { page, shown } = faked;
  Object.assign(shown, { status: "offline", statusReason: "link_lost" });
  shown.operations = [operation({})];
  await faked.openPage();
  await page
    .getByText(/Link lost \d+ min ago\. .* What needs the host rests until it is back\./)
    .waitFor();
  await page.getByText(/as last reported 1\d min ago/).waitFor();
  assert.equal(await page.getByRole("img", { name: "Ready" }).count(), 0);
  assert.equal(await page.locator("main .st.run").count(), 0);
  const resting = [
    "Update opencode",
    "Restart opencode",
    "Sign in to Codex",
    "Renew the login of Claude Code",
    "Update the daemon",
    "New session",
  ];
  for (const name of resting) {
    const button = page.getByRole("main").getByRole("button", { name });
    assert.ok(await button.isDisabled(), name);
    assert.match((await button.getAttribute("title"))!, /builder-fra-2 is not online/, name);
  }
  await page.getByText("They are listed when the host is online.").waitFor();
  assert.deepEqual(inputsOf(faked, "list_parked_sessions"), []);
  // The order of agents is a record of the service.
  assert.ok(await page.getByRole("button", { name: "Change" }).isEnabled());
});

test("5 Who may not change a host reads it, and learns which permission it takes", async () => {
  await using faked = await openHost(undefined, ["instances:view"]);
  const { page } = faked;
  await faked.openPage();
  await page.getByText("you need the permission settings:edit").waitFor();
  await page.getByText("mira@tidewater.example").waitFor();
  const absent = /Install|Update|Restart|Change|Host actions|New session|Restore/;
  const found = page.getByRole("main").getByRole("button", { name: absent });
  assert.deepEqual(await found.allInnerTexts(), []);
  assert.equal(await page.getByRole("heading", { name: "Kept files" }).count(), 0);
  assert.deepEqual(inputsOf(faked, "list_agent_identities"), [{ instanceId }]);
  for (const action of ["list_parked_sessions", "search_sessions"]) {
    assert.deepEqual(
      inputsOf(faked, action).filter((input) => "instanceId" in input),
      [],
    );
  }
});

test("4.1 Pairing: three steps change live; after 60 s without a call the three checks are shown", async () => {
  await using faked = await openHost();
  const { page, shown, answers } = faked;
  // Paired before: only a pairing that is newer than the command counts.
  Object.assign(shown, { status: "offline", statusReason: "daemon_stopped" });
  answers["regenerate_pairing_token"] = () => ({
    instanceId,
    pairingToken: "hwp_1",
    installCommand: "curl -fsSL https://hawser.example/install.sh | HAWSER_TOKEN=hwp_1 sh",
    pairingTokenExpiresAt: new Date(Date.now() + 15 * 60_000).toISOString(),
  });
  await page.clock.install();
  await faked.openPage();
  await page.getByRole("button", { name: "Host actions" }).click();
  await page.getByRole("menuitem", { name: "New pairing command" }).click();
  await page.getByRole("button", { name: "Make the command" }).click();
  const dialog = page.getByRole("dialog", { name: "Pair builder-fra-2" });
  await dialog.getByText("HAWSER_TOKEN=hwp_1").waitFor();
  await dialog.getByRole("img", { name: "No line yet" }).waitFor();
  await dialog.getByRole("button", { name: "It does not come" }).waitFor();
  assert.equal(await dialog.getByText("The command did not finish").count(), 0);
  await page.clock.fastForward(61_000);
  await dialog.getByText("The command did not finish").waitFor();
  assert.equal(await dialog.getByRole("button", { name: "It does not come" }).count(), 0);
  await dialog.getByText("HAWSER_TOKEN=hwp_1").waitFor();

  shown.pairedAt = new Date().toISOString();
  await page.clock.fastForward(3_000);
  await dialog.getByRole("img", { name: "Line made fast" }).waitFor();
  await dialog.getByText("Opening the link.").waitFor();
  assert.equal(await dialog.getByText("HAWSER_TOKEN").count(), 0);

  Object.assign(shown, { status: "online", statusReason: null });
  shown.agents[2] = { ...host.agents[2]!, installed: false, version: null };
  shown.operations = [operation({ subject: "codex 0.167.0", percent: 61 })];
  await page.clock.fastForward(3_000);
  await dialog.getByRole("img", { name: "Line taut" }).waitFor();
  await dialog.getByText("downloading, 61 %").waitFor();
  const start = dialog.getByRole("link", { name: "Start a session here" });
  assert.equal(await start.getAttribute("href"), `/new?instance=${instanceId}`);
});

for (const width of [1440, 390]) {
  for (const theme of ["light", "dark"] as const) {
    test(`8 The page of a host and its dialogs have no finding at ${width} pixels in ${theme}`, async () => {
      await using faked = await openHost(width);
      const { page, shown, answers } = faked;
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      const closed = (what: string) => findNothingInDialog(page, what);
      shown.operations = [operation({ subject: "x".repeat(200), state: "failed", step: "No." })];
      answers["start_agent_login"] = () => attempt;
      answers["poll_agent_login"] = () => attempt;
      answers["list_agent_identities"] = () => ({
        identities: [account, { ...account, user: { userId: "usr_2", name: "Jonas Weber" } }],
        separated: false,
        sealingKey: { kty: "RSA", alg: "RSA-OAEP-256", use: "enc", n: "w".repeat(342), e: "AQAB" },
        live: true,
        takenAt: times.ago(0),
      });
      await faked.openPage();
      await page.getByText("Spike: batch SEPA files").waitFor();
      await page.getByText("Jonas Weber").waitFor();
      await findNothing(page, "a host");
      await page.getByRole("button", { name: "Change" }).click();
      await closed("the order of agents");
      await page.getByRole("button", { name: "Sign in to Codex" }).click();
      await page.getByText("K7RD-2QXM").waitFor();
      await closed("a login");
      await page.getByRole("button", { name: "Actions for Codex" }).click();
      await page.getByRole("menuitem", { name: "Use a key or a gateway" }).click();
      await closed("a key");
      await page.getByRole("button", { name: "Actions for Claude Code" }).click();
      await page.getByRole("menuitem", { name: "Unlink" }).click();
      await closed("unlinking");
      await page.getByRole("button", { name: "Restart claude_code" }).click();
      await closed("a restart");
      for (const act of ["Rename", "New pairing command", "Remove"]) {
        await page.getByRole("button", { name: "Host actions" }).click();
        await page.getByRole("menuitem", { name: act }).click();
        await closed(act);
      }
      Object.assign(shown, { status: "offline", statusReason: "link_lost" });
      await faked.openPage();
      await page.getByText("They are listed when the host is online.").waitFor();
      await findNothing(page, "an offline host");
      assert.deepEqual(faked.errors, []);
    });
  }
}
