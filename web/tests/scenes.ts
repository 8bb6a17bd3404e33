// The pages of which pictures are taken, each with what the service answers there.
import type { BrowserPage } from "@hawser/testkit/browser.ts";
import type { Entry } from "../src/features/session-log/row.ts";
import { fakeChanges, payouts, type Files, type Versions } from "./changed-files.ts";
import { account, host } from "./faked-hosts.ts";
import { session, sessionId, type FakedService } from "./faked-service.ts";
import { firstRun } from "./first-run.ts";
import {
  answers,
  entries,
  question,
  queueOf,
  raised,
  sessions,
  waitingPrompts,
} from "./tidewater.ts";

type Page = BrowserPage["page"];

export interface Scene {
  name: string;
  path: string;
  entries: readonly Entry[];
  answers: FakedService["answers"];
  record: typeof session;
  /** More answers of the service, which need the service itself. */
  prepare: (faked: FakedService) => unknown;
  /** Brings the page to what the picture shows. */
  settle: (page: Page) => Promise<unknown>;
}

const scene = (
  name: string,
  path: string,
  settle: Scene["settle"],
  changes: Partial<Scene> = {},
): Scene => ({
  name,
  path,
  settle,
  entries,
  record: {
    ...session,
    capabilities: ["diff", "shell", "commands", "fork", "revert"],
    model: { providerId: "anthropic", modelId: "claude-sonnet-4-5" },
  },
  prepare: () => {},
  ...changes,
  answers: { ...(answers as FakedService["answers"]), ...changes.answers },
});

const shows = (text: string) => (page: Page) =>
  page.getByText(text).filter({ visible: true }).first().waitFor();
/** The transcript, the card, and on wide screens the first file of the changes in colours. */
async function showsSession(page: Page): Promise<void> {
  await shows("The test fails for the right reason now")(page);
  await shows("Allow once")(page);
  if (page.viewportSize()!.width > 1_000)
    await page.locator(".dl .k", { hasText: "await" }).first().waitFor();
}
/** On a phone the list alone is shown until a request is chosen. */
async function showsInbox(page: Page): Promise<void> {
  await shows("Finished, not read yet")(page);
  if (page.viewportSize()!.width < 1_000) return;
  await page.getByText("Run a command").click();
  await page.locator(".said-before").waitFor();
}
async function showsStart(page: Page): Promise<void> {
  await shows("1 provider: anthropic")(page);
  await page.getByRole("button", { name: "What the agent may do" }).waitFor();
}
/** Deeper in their files, so that git names the functions. */
const changed: Files = Object.fromEntries(
  Object.entries(payouts).map(([path, versions]) => [path, lowered(path, versions)]),
);
function lowered(path: string, [before, after]: Versions): Versions {
  if (!path.startsWith("src/")) return [before, after];
  const above = `import { Db, Delivery } from "../db"\n${"\n".repeat(28)}`;
  const lower = (text: string) =>
    above +
    text.replace(
      ") {\n",
      ") {\n  const { transfer } = delivery\n  if (transfer.state !== 'settled') return\n\n",
    );
  return [lower(before!), lower(after!)];
}
const sessionPath = `/sessions/${sessionId}`;
const ofHost: FakedService["answers"] = {
  get_instance: () => host,
  list_agent_identities: () => ({
    identities: [account],
    separated: true,
    sealingKey: null,
    live: true,
    takenAt: null,
  }),
  list_parked_sessions: () => ({
    parkedSessions: [
      {
        sessionId: "ses_old",
        title: "Spike: batch SEPA files",
        branch: "hawser/spike-batch-sepa",
        parkedAt: "2026-11-11T16:20:00Z",
        sizeBytes: 48_300_000,
        expiresAt: "2026-11-25T16:20:00Z",
      },
    ],
    truncated: false,
  }),
};

export const scenes: Scene[] = [
  scene("session", sessionPath, showsSession, {
    prepare: (faked) => fakeChanges(faked, changed),
  }),
  scene("session-question", sessionPath, shows("Half even"), {
    prepare: (faked) => fakeChanges(faked, changed),
    answers: { search_requests: () => ({ requests: [question()], nextCursor: null }) },
  }),
  scene("session-queue", sessionPath, shows("2 prompts wait"), {
    entries: [...entries, ...waitingPrompts],
    prepare: (faked) => fakeChanges(faked, changed),
    answers: {
      list_queued_prompts: () => queueOf(waitingPrompts),
      search_requests: () => ({ requests: [], nextCursor: null }),
    },
  }),
  scene(
    "session-review",
    `${sessionPath}/review`,
    (page) => page.locator(".dl").first().waitFor(),
    {
      prepare: (faked) => fakeChanges(faked, changed),
    },
  ),
  scene("inbox", "/inbox", showsInbox, {
    entries: [...entries, raised],
    answers: {
      get_session_summary: (asked) => ({
        ...session,
        ...sessions.find((each) => each.sessionId === asked["sessionId"]),
        live: null,
      }),
    },
  }),
  scene("new-session", "/new", (page) => page.getByRole("radio", { checked: true }).waitFor(), {
    answers: firstRun,
  }),
  scene("sign-in", "/sign-in", shows("Use a passkey"), { prepare: (faked) => faked.endSignIn() }),
  scene("first-run", "/start", showsStart, { answers: firstRun }),
  scene("hosts", "/hosts", shows("mac-mini-7")),
  scene("host", "/hosts/ins_1", shows("Restore in a new session"), { answers: ofHost }),
  scene(
    "palette",
    sessionPath,
    async (page) => {
      await shows("The test fails for the right reason now")(page);
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("ledger");
      await page.getByRole("option").first().waitFor();
    },
    { prepare: (faked) => fakeChanges(faked, changed) },
  ),
];
