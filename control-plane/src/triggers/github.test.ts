// Which events of GitHub start a run, and what a session sees of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TriggerEvent } from "@hawser/contract";
import { githubPayloads as payloads } from "@hawser/testkit/webhook-sender.ts";
import { readGithubEvent } from "./github.ts";

const filter = { events: TriggerEvent.options, commandWord: "/hawser" };
const read = (name: string, payload: object, changes: Partial<typeof filter> = {}) =>
  readGithubEvent(name, payload, { ...filter, ...changes });

function textOf(name: string, payload: object): string {
  const event = read(name, payload);
  assert.ok(event && "text" in event, JSON.stringify(event));
  return event.text;
}

function ignored(name: string, payload: object, changes: Partial<typeof filter> = {}): string {
  const event = read(name, payload, changes);
  assert.ok(event && "ignored" in event, JSON.stringify(event));
  return event.ignored;
}

test("an opened issue is shown with its repository, number, title, author, address and text", () => {
  const payload = payloads.issueOpened({ body: "First line.\nSecond line." });
  const { number, html_url } = payload.issue;
  assert.deepEqual(textOf("issues", payload).split("\n"), [
    "event: issue_opened",
    "repository: acme/widget",
    "sender: octocat",
    `number: ${number}`,
    "title: The button is blue",
    "author: reporter",
    `url: ${html_url}`,
    "body:",
    "  First line.",
    "  Second line.",
  ]);
  assert.doesNotMatch(textOf("issues", payloads.issueOpened({ body: null })), /body/);
});

test("a text with lines like those of other parts cannot pass as one of them", () => {
  const forged = "x\ncomment by: owner\r\nnumber: 1\rtitle: y\u2028author: owner\u2029url: z";
  const opened = textOf("issues", payloads.issueOpened({ title: forged, body: forged }));
  const names = opened.split(/[\r\n\u2028\u2029]/).filter((line) => !line.startsWith("  "));
  assert.deepEqual(
    names.map((line) => line.split(":")[0]),
    ["event", "repository", "sender", "number", "title", "author", "url", "body"],
  );
});

test("a part that is null is like one that is missing", () => {
  const missing = { repository: null, label: null, comment: null, workflow_run: null };
  textOf("issues", { ...payloads.issueOpened(), ...missing, check_run: null, check_suite: null });
  const others = { issue: null, review: null, pull_request: null };
  textOf("workflow_run", { ...payloads.workflowRun("failure"), ...others });
  assert.match(ignored("workflow_run", { action: "completed", workflow_run: null }), /This action/);
});

test("a label, a review and a failed check are shown with what they are about", () => {
  assert.match(
    textOf("issues", payloads.issueLabeled("bug")),
    /^event: issue_labeled\n[^]*\nlabel: bug\n/,
  );
  const review = textOf("pull_request_review", payloads.review("Please add a test."));
  assert.match(
    review,
    /review by: octocat\n[^]*review state: changes_requested\nreview: Please add a test\.\n/,
  );
  assert.match(review, /head branch: green-button\nhead commit: c0ffee0+\nnumber: /);
  assert.match(textOf("pull_request_review", payloads.review(null)), /^event: review\n/);
  const checks: [string, object][] = [
    ["check_run", payloads.checkRun("failure")],
    ["check_suite", payloads.checkSuite("timed_out")],
    ["workflow_run", payloads.workflowRun("startup_failure")],
  ];
  for (const [name, payload] of checks) {
    const text = textOf(name, payload);
    assert.match(
      text,
      /^event: check_failed\n[^]*\nhead branch: green-button\nhead commit: c0ffee/,
    );
  }
});

test("a comment starts a run if a line begins with the command word", () => {
  const starting = ["/hawser", "/hawser fix it", "Hello,\r\n/hawser\tfix it", "a\n/hawser"];
  for (const body of starting) {
    const text = textOf("issue_comment", payloads.comment(body));
    assert.match(text, /comment by: octocat\n/, body);
    assert.match(text, /title: The button is blue/);
  }
  const others = ["please /hawser", "/hawserx", "> /hawser fix it", " /hawser", "/HAWSER", ""];
  for (const body of others)
    assert.match(ignored("issue_comment", payloads.comment(body)), /No line/, body);
  const word = { commandWord: "@bot" };
  assert.ok("text" in read("issue_comment", payloads.comment("@bot go"), word)!);
});

test("a comment of somebody who cannot write to the repository starts nothing", () => {
  for (const association of ["OWNER", "MEMBER", "COLLABORATOR"])
    textOf("issue_comment", payloads.comment("/hawser", association));
  for (const association of ["CONTRIBUTOR", "FIRST_TIMER", "NONE", "member", ""])
    assert.match(ignored("issue_comment", payloads.comment("/hawser", association)), /no owner/);
});

test("other events, other actions and checks that pass start nothing", () => {
  const rows: [string, object, RegExp][] = [
    ["push", { ref: "refs/heads/main" }, /event of this type/],
    ["", payloads.issueOpened(), /event of this type/],
    ["constructor", payloads.issueOpened(), /event of this type/],
    ["issues", { ...payloads.issueOpened(), action: "closed" }, /This action/],
    ["issue_comment", { ...payloads.comment("/hawser"), action: "edited" }, /This action/],
    ["pull_request_review", { ...payloads.review("x"), action: "dismissed" }, /This action/],
    ["check_run", { ...payloads.checkRun("failure"), action: "created" }, /This action/],
    ["check_run", payloads.checkRun("success"), /did not fail/],
    ["workflow_run", payloads.workflowRun("cancelled"), /did not fail/],
    // The header is not signed: a body of another type starts nothing.
    ["issues", payloads.comment("/hawser", "NONE"), /This action/],
    ["check_suite", payloads.checkRun("failure"), /This action/],
    ["workflow_run", payloads.checkSuite("failure"), /This action/],
  ];
  for (const [name, payload, reason] of rows) assert.match(ignored(name, payload), reason, name);
});

test("only the trigger's events start a run", () => {
  const opened = payloads.issueOpened();
  assert.match(ignored("issues", opened, { events: ["comment"] }), /do not contain issue_opened/);
  assert.ok("text" in read("issues", opened, { events: ["issue_opened"] })!);
});

test("a body of another form is not an event of GitHub", () => {
  for (const body of [null, [], "x", { issue: { number: "1" } }, { comment: {} }])
    assert.equal(readGithubEvent("issues", body, filter), undefined, JSON.stringify(body));
});
