// A browser for pages: the machine's own Chromium, in the build that has no windows. It needs a third less processor
// time than the whole browser with its windows hidden.
import { chromium, type Page } from "playwright-core";

export interface BrowserPage extends AsyncDisposable {
  page: Page;
  /** Errors that the page has written to its console or thrown. */
  errors: string[];
}

const program = "/usr/bin/chromium-headless-shell";
const patienceMs = 30_000;

/**
 * A new browser with one empty page. It logs in at addresses that ask for this login. `domain`: its names are this
 * machine's, and their certificates are accepted.
 */
export async function openBrowser(
  login: { username: string; password: string },
  { domain }: { domain?: string } = {},
): Promise<BrowserPage> {
  const browser = await chromium.launch({
    executablePath: program,
    timeout: patienceMs,
    // Chromium's own sandbox refuses to run as root, as whom machines of builds often run.
    args: ["--no-sandbox", ...(domain ? [`--host-resolver-rules=MAP *.${domain} 127.0.0.1`] : [])],
  });
  const context = await browser.newContext({
    httpCredentials: login,
    serviceWorkers: "block",
    ignoreHTTPSErrors: domain !== undefined,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  return {
    page,
    errors,
    async [Symbol.asyncDispose]() {
      await browser.close();
    },
  };
}
