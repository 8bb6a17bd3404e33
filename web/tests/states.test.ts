// What a page shows while it loads, where nothing is, where something failed, and where it may not or cannot act. And
// the rules of request cards that need more than one request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

const path = `/sessions/${sessionId}`;

/** `length`: 40 entries are a turn that is over, and one more begins the next. */
const opened = (length = 40, record: Partial<typeof session> = {}) =>
  openFaked({ entryAt: generatedEntry, length, record: { ...session, ...record } });

const request = (n: number, about: object = {}) => ({
  requestId: `req_${n}`,
  type: "permission",
  sessionId,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: { title: "Run a command", detail: `npm run step-${n}`, alwaysRules: [] },
  questions: null,
  rule: null,
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: `2026-11-15T10:0${n}:00.000Z`,
  resolvedAt: null,
  ...about,
});

function ask({ answers }: FakedService, ...requests: object[]): void {
  answers["search_requests"] = ({ scope }) => ({
    // The service has the newest first.
    requests: scope === "pending" ? requests.toReversed() : [],
    nextCursor: null,
  });
}

test("5 Loading, 5 Empty: nothing for 200 ms, then lines; where nothing is, one sentence and one button", async () => {
  await using faked = await opened();
  const { page, answers } = faked;
  answers["whoami"] = () => ({ permissions: ["instances:view", "instances:edit"] });
  answers["search_instances"] = () => ({ instances: [], nextCursor: null });
  const read = Promise.withResolvers<void>();
  await page.route("**/actions/search_instances", async (route) => {
    await read.promise;
    await route.fallback();
  });
  await page.addInitScript(() => {
    const times: Record<string, number> = {};
    Object.assign(globalThis, { times });
    new MutationObserver(() => {
      for (const seen of ["#main h1", "#main .sk"]) {
        if (document.querySelector(seen)) times[seen] ??= performance.now();
      }
    }).observe(document, { childList: true, subtree: true });
  });
  await faked.open("/hosts");
  await page.locator("#main .sk").first().waitFor();
  const times = await page.evaluate<Record<string, number>>("times");
  assert.ok(times["#main .sk"]! - times["#main h1"]! > 150, JSON.stringify(times));
  read.resolve();
  const main = page.getByRole("main");
  await main.getByText("No hosts yet").waitFor();
  assert.equal(await page.locator("#main .sk").count(), 0);
  await main.getByRole("button", { name: "Pair a host" }).last().waitFor();
});

test("5 Error: what failed, what is unaffected, the incident, and Try again; the rest of the page stays", async () => {
  await using faked = await opened();
  const { page, refusals } = faked;
  refusals["search_sessions"] = {
    code: "internal",
    message: "Something failed inside the service.",
    retry: "never",
    incidentId: "inc_8k2m0f",
  };
  await faked.open("/hosts");
  const failed = page.getByRole("alert");
  await failed.getByText("Your sessions are running as before.").waitFor();
  await failed.getByText("inc_8k2m0f").waitFor();
  await page.getByRole("main").getByText("builder-fra-2").first().waitFor();
  delete refusals["search_sessions"];
  await failed.getByRole("button", { name: "Try again" }).click();
  await page.locator(".list .item").first().waitFor();
  assert.equal(await failed.count(), 0);
});

test("5 Host offline: a session says so, no ring turns, and Send and answers rest with the reason", async () => {
  await using faked = await opened(41, { reachable: false });
  const { page, calls } = faked;
  faked.answers["get_instance"] = () => ({
    instanceId: "ins_1",
    name: "gpu-lab-1",
    status: "offline",
    statusReason: "link_lost",
    lastSeenAt: new Date(Date.now() - 14 * 60_000).toISOString(),
    agents: [],
  });
  ask(faked, request(1));
  await faked.open(path);
  await page.getByText("The host is offline. The agent may still be working there").waitFor();
  await page.getByText("Link lost 14 min ago.").waitFor();
  await page.getByText("An answer given now would be recorded and not delivered.").waitFor();
  await page.getByText("The host is offline, so nothing can be sent now.").waitFor();
  assert.equal(await page.locator("#main .st.run").count(), 0);
  await page.waitForTimeout(600);
  await page.keyboard.press("y");
  await page.getByLabel("Message").fill("Not now.");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByLabel("Message").inputValue(), "Not now.");
  assert.ok(!calls.some(({ action }) => /^answer_|^send_/.test(action)));
});

test("5 No permission: what can be read stays, and the page says which permission is missing", async () => {
  await using faked = await opened();
  const { page, answers, calls } = faked;
  answers["whoami"] = () => ({ permissions: ["sessions:view", "instances:view"] });
  ask(faked, request(1));
  await faked.open(path);
  await page.getByText("To write in it you need the permission sessions:edit").waitFor();
  await page.getByText("To answer you need the permission sessions:edit").waitFor();
  await page.locator(".log-row").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Session actions" }).count(), 0);
  await page.waitForTimeout(600);
  await page.keyboard.press("y");
  await page.getByRole("button", { name: "Allow once" }).click({ force: true });
  await page.getByLabel("Message").fill("Not I.");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByLabel("Message").inputValue(), "Not I.");
  assert.ok(!calls.some(({ action }) => /^answer_|^send_/.test(action)));
});

test("5 Tab hidden: the title of the tab counts the open requests", async () => {
  await using faked = await opened();
  const { page } = faked;
  ask(faked, request(1), request(2));
  await faked.open("/hosts");
  await page.waitForFunction(() => document.title === "(2) Hosts · Hawser");
  ask(faked);
  faked.changed();
  await page.waitForFunction(() => document.title === "Hosts · Hawser");
});

test("4.1 Request card: the oldest of several is in front, and without a rule there is no Always", async () => {
  await using faked = await opened();
  const { page, answers, calls } = faked;
  ask(faked, request(1), request(2));
  answers["answer_permission"] = () => ({ status: "answered" });
  await faked.open(path);
  const card = page.getByRole("region", { name: "Permission request" });
  await card.getByText("npm run step-1").waitFor();
  await card.getByText("1 of 2").waitFor();
  assert.equal(await card.getByRole("button", { name: "Always" }).count(), 0);
  await page.waitForTimeout(600);
  await page.keyboard.press("a");
  await page.keyboard.press("y");
  await card.getByText("npm run step-2").waitFor();
  assert.deepEqual(
    calls.filter(({ action }) => action === "answer_permission").map(({ input }) => input),
    [{ requestId: "req_1", answer: "once" }],
  );
});

test("7 Keyboard: J and K lead through the inbox, where each request stands below what the agent said before it", async () => {
  await using faked = await opened();
  const { page } = faked;
  ask(faked, request(1), request(2));
  const said = (n: number) => {
    const content = { type: "text", text: `First.\n\nStep ${n} is next.` };
    const at = "2026-11-15T10:00:00.000Z";
    return [
      { sessionUpdate: "agent_message_chunk", messageId: `s${n}`, content, parentToolCallId: null },
      { sessionUpdate: "request_raised", requestId: `req_${n}` },
    ].map((update, of) => ({ seq: 40 + n * 2 + of, at, turnId: "t2", update }));
  };
  faked.answers["list_session_events"] = () => ({
    events: [...said(1), ...said(2)],
    lastSeq: 45,
    hasMore: false,
    nextAfter: null,
  });
  await faked.open("/inbox");
  await page.locator(".focus").getByText("npm run step-1").waitFor();
  for (const [key, n] of [
    ["j", 2],
    ["k", 1],
  ] as const) {
    await page.keyboard.press(key);
    await page.waitForURL(`**/inbox/req_${n}`);
    await page.locator(".focus").getByText(`npm run step-${n}`).waitFor();
    await page.locator(".said-before").getByText(`Step ${n} is next.`, { exact: true }).waitFor();
  }
});

test("4.1 Request card: questions are steps of one card, and are sent together; Dismiss rejects them", async () => {
  await using faked = await opened();
  const { page, answers, calls } = faked;
  const options = (...labels: string[]) => labels.map((label) => ({ label, description: null }));
  const questions = [
    {
      question: "Which days?",
      options: options("Monday", "Friday"),
      multiple: true,
      freeText: true,
    },
    { question: "Which zone?", options: options("UTC", "Here"), multiple: false, freeText: false },
  ];
  ask(faked, request(1, { type: "question", permission: null, questions }));
  answers["answer_question"] = () => ({ status: "answered" });
  await faked.open(path);
  const card = page.getByRole("region", { name: "Question" });
  await card.getByRole("checkbox", { name: "Monday" }).waitFor();
  await page.waitForTimeout(600);
  await page.keyboard.press("1");
  await page.keyboard.press("2");
  await card.getByLabel("own words").fill("Sunday");
  await card.getByRole("button", { name: "Next" }).click();
  await card.getByRole("radio", { name: "UTC" }).click();
  await card.getByRole("button", { name: "Answer" }).click();
  await card.waitFor({ state: "detached" });
  ask(faked, request(2, { type: "question", permission: null, questions }));
  faked.changed();
  await card.getByRole("checkbox", { name: "Monday" }).waitFor();
  await page.waitForTimeout(600);
  await card.getByRole("button", { name: "Dismiss" }).click();
  await card.waitFor({ state: "detached" });
  assert.deepEqual(
    calls.filter(({ action }) => action === "answer_question").map(({ input }) => input),
    [
      { requestId: "req_1", answers: [["Monday", "Friday", "Sunday"], ["UTC"]] },
      { requestId: "req_2", reject: true },
    ],
  );
});

test("4.1 Transcript: the log itself is silent, and a polite region says what begins, ends and asks", async () => {
  await using faked = await opened();
  const { page } = faked;
  await faked.open(path);
  const log = page.getByRole("log");
  await log.waitFor();
  assert.equal(await log.getAttribute("aria-live"), "off");
  const spoken = page.locator(".sr[aria-live=polite]");
  const says = (text: string) => spoken.filter({ hasText: text }).waitFor({ state: "attached" });
  faked.add(generatedEntry(41));
  await says("The turn has started");
  faked.add({ ...generatedEntry(80), seq: 42 });
  await says("The turn has finished");
  ask(faked, request(1));
  faked.changed();
  await says("The agent asks for an answer");
});

test("4.1 Composer: a stopped turn says how many prompts were not sent, and puts them back, the oldest first", async () => {
  await using faked = await opened(41);
  const { page, answers } = faked;
  const prompts = ["Write it down.", "Run all tests."].map((text, at) => ({
    messageId: `q${at}`,
    turnId: `t${at + 8}`,
    type: "prompt",
    text,
    isCut: false,
    by: { userId: "usr_1", name: "Mira" },
    holds: [],
  }));
  let queued = prompts;
  answers["list_queued_prompts"] = () => ({ sessionId, version: 43, prompts: queued });
  answers["abort_session"] = () => {
    queued = [];
    return { sessionId, aborted: true, droppedPrompts: 2 };
  };
  faked.add(
    ...prompts.map(({ messageId, turnId, text }, at) => ({
      ...generatedEntry(42 + at),
      turnId,
      update: { sessionUpdate: "prompt_queued", messageId, turnId, text },
    })),
  );
  await faked.open(path);
  await page.getByText("2 prompts wait").waitFor();
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await page.getByText("Stopped. 2 prompts were not sent.").waitFor();
  await page.getByRole("button", { name: "Put back" }).first().click();
  assert.equal(await page.getByLabel("Message").inputValue(), "Write it down.\n\nRun all tests.");
});

test("4.1 Request card: what was answered in the inbox is no card in the session any more", async () => {
  await using faked = await opened();
  const { page, answers } = faked;
  ask(faked, request(1));
  await faked.open(path);
  await page.locator(".ask-card").waitFor();
  await page.locator(".side").getByText("Inbox").click();
  await page.locator(".focus .ask-card").waitFor();
  const resolvedAt = new Date().toISOString();
  const answered = request(1, { status: "answered", answer: "once", resolvedAt });
  answers["search_requests"] = ({ scope }) => ({
    requests: scope === "resolved" ? [answered] : [],
    nextCursor: null,
  });
  const read = () => page.waitForResponse("**/actions/search_requests");
  const isRead = read();
  faked.changed();
  await isRead;
  const isReadAgain = read();
  await page.goBack();
  await page.locator(".log-row").first().waitFor();
  await isReadAgain;
  await page.waitForTimeout(500);
  assert.equal(await page.locator(".ask-card").count(), 0);
});

test("5 Error: a page that could not be opened is opened once the service answers again", async () => {
  await using faked = await opened();
  const { page } = faked;
  let isDown = true;
  let asked = 0;
  await page.route("**/api/sign-in", async (route) => {
    asked += 1;
    const error = { code: "unavailable", message: "Try again later.", retry: "later" };
    await (isDown ? route.fulfill({ status: 503, json: { error } }) : route.fallback());
  });
  await faked.open("/hosts");
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  const before = asked;
  await again.click();
  await page.waitForTimeout(1_000);
  assert.ok(asked > before, "the button asks the service");
  isDown = false;
  await page.getByText("builder-fra-2").first().waitFor();
});
