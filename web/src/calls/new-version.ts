// Whether the service has newer pages than the one that is open: its page then names another first script.

const firstScript = /<script type="module"[^>]*\ssrc="([^"]+)"/;

/** False if it cannot be found out. */
export async function hasNewVersion(signal: AbortSignal): Promise<boolean> {
  const own = document.querySelector('script[type="module"][src]')?.getAttribute("src");
  try {
    const response = await fetch("/", {
      headers: { accept: "text/html" },
      cache: "no-cache",
      signal,
    });
    if (!response.ok) return false;
    const served = firstScript.exec(await response.text())?.[1];
    return typeof own === "string" && served !== undefined && served !== own;
  } catch {
    return false;
  }
}
