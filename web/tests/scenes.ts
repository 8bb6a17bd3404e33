// The pages of which pictures are taken, each with what the service answers there.
import type { BrowserPage } from "@hawser/testkit/browser.ts";
import type { Entry } from "../src/features/session-log/row.ts";
import { sessionId } from "./faked-service.ts";
import { firstRun } from "./first-run.ts";
import { answers, entries } from "./tidewater.ts";

type Page = BrowserPage["page"];

export interface Scene {
  name: string;
  path: string;
  entries: readonly Entry[];
  answers: typeof answers;
  /** Brings the page to what the picture shows. */
  settle: (page: Page) => Promise<unknown>;
}

const scene = (
  name: string,
  path: string,
  settle: Scene["settle"],
  changes: Partial<Scene> = {},
): Scene => ({ name, path, settle, entries, answers, ...changes });

export const scenes: Scene[] = [
  scene("session", `/sessions/${sessionId}`, (page) =>
    page.getByText("The test fails for the right reason now").waitFor(),
  ),
  scene("inbox", "/inbox", (page) => page.getByText("Daily dependency update").first().waitFor()),
  scene("new-session", "/new", (page) => page.getByRole("radio", { checked: true }).waitFor(), {
    answers: { ...answers, ...firstRun },
  }),
  scene("first-run", "/start", (page) => page.getByText("1 provider: anthropic").waitFor(), {
    answers: { ...answers, ...firstRun },
  }),
  scene("hosts", "/hosts", (page) => page.getByText("mac-mini-7").first().waitFor()),
];
