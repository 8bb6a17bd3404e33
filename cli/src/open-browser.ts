// Opens a page in the browser of this desktop, if there is one.
import { spawn } from "node:child_process";

/** Returns false if this process has no desktop: the person opens the page elsewhere. */
export function openBrowser(url: string, environment: NodeJS.ProcessEnv = process.env): boolean {
  const program = browserProgram(environment);
  if (!program || !/^https?:/.test(url)) return false;
  const child = spawn(program, [url], { detached: true, stdio: "ignore" });
  // The address is printed too.
  child.on("error", () => {});
  child.unref();
  return true;
}

function browserProgram({
  SSH_CONNECTION,
  DISPLAY,
  WAYLAND_DISPLAY,
}: NodeJS.ProcessEnv): string | undefined {
  if (SSH_CONNECTION) return undefined;
  if (process.platform === "darwin") return "open";
  return DISPLAY || WAYLAND_DISPLAY ? "xdg-open" : undefined;
}
