// The dashboard in the machine's own Chromium, opened by a person who has accepted an invitation.
import { openBrowser, type BrowserPage } from "./browser.ts";
import type { World } from "./world.ts";

export interface Dashboard extends BrowserPage {
  email: string;
  password: string;
  /** What the content security policy has refused. */
  violations: string[];
  /** Opens a page of the dashboard. */
  open: (path: string) => Promise<void>;
}

export interface DashboardOptions {
  /** The person's role; undefined opens the dashboard without signing in. */
  role?: string;
  width?: number;
  theme?: "light" | "dark";
}

export const password = "correct horse battery";
let count = 0;

export async function openDashboard(
  world: Pick<World, "pageUrl" | "caller">,
  { role, width = 1440, theme = "light" }: DashboardOptions = {},
): Promise<Dashboard> {
  const browser = await openBrowser({ username: "", password: "" });
  const { page } = browser;
  const violations: string[] = [];
  await page.exposeFunction("noteViolation", (text: string) => void violations.push(text));
  await page.addInitScript(`addEventListener("securitypolicyviolation", (event) =>
    noteViolation(event.violatedDirective + " " + event.blockedURI + " " + event.sample))`);
  await page.setViewportSize({ width, height: width < 720 ? 844 : 900 });
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  const email = `mira-${++count}@people.example`;
  const open = async (path: string) => void (await page.goto(world.pageUrl + path));
  if (role !== undefined) {
    const { url } = await world.caller.create_invitation({ email, name: "Mira Okafor", role });
    await open("/sign-in");
    const status = await page.evaluate(acceptInvitation, {
      invitation: new URL(url).hash.slice(1),
      password,
    });
    if (status !== 200) throw new Error(`The invitation was answered ${status}.`);
  }
  return { ...browser, email, password, violations, open };
}

/** Runs in the page. */
async function acceptInvitation(body: object): Promise<number> {
  const response = await fetch("/api/sign-in/invitations/accept", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.status;
}
