// `npm run screenshots [-- --beside DIRECTORY] [--out DIRECTORY] [NAME…]`: pictures of the pages, wide and on a phone,
// light and dark, with the same data and the same time each run. --beside: a directory with a page of static HTML for
// each name, for example a design; each picture then stands beside the picture of that page on one sheet.
// --guide: takes the pictures of docs/guide instead, in their place.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { openBrowser } from "@hawser/testkit/browser.ts";
import { openFaked, type FakedService } from "./faked-service.ts";
import { now } from "./tidewater.ts";
import { scenes, type Scene } from "./scenes.ts";

const { values, positionals } = parseArgs({
  options: {
    beside: { type: "string" },
    guide: { type: "boolean", default: false },
    out: { type: "string", default: ".results/screenshots" },
  },
  allowPositionals: true,
});
const sizes = { wide: 1440, phone: 390 };
const themes = ["light", "dark"] as const;
const inGuide = ["session", "session-review", "inbox", "host"];
const guideWidth = 1280;

if (values.guide) await takeForGuide();
else await takeAll();

async function takeAll(): Promise<void> {
  const chosen = scenes.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  for (const scene of chosen) {
    for (const [size, width] of Object.entries(sizes)) {
      for (const theme of themes) {
        const picture = await take(scene, width, theme);
        const sheet = await besideDesign(picture, scene.name, width, theme);
        write(values.out, `${scene.name}-${size}-${theme}.png`, sheet);
      }
    }
  }
}

async function takeForGuide(): Promise<void> {
  const pictures = join(import.meta.dirname, "../../docs/guide/pictures");
  const sceneOf = (wanted: string) => scenes.find(({ name }) => name === wanted)!;
  for (const name of inGuide) {
    write(pictures, `${name}.png`, await take(sceneOf(name), guideWidth, "light"));
  }
  write(pictures, "session-phone.png", await take(sceneOf("session"), sizes.phone, "light"));
}

function write(directory: string, name: string, picture: Buffer): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), picture);
  console.log(join(directory, name));
}

async function take(scene: Scene, width: number, theme: "light" | "dark"): Promise<Buffer> {
  await using faked: FakedService = await openFaked({
    width,
    length: scene.entries.length,
    entryAt: (seq) => scene.entries[seq - 1]!,
    record: scene.record,
  });
  const { page } = faked;
  Object.assign(faked.answers, scene.answers);
  scene.prepare(faked);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.clock.setFixedTime(now);
  await page.addInitScript(keepStreamsOpen);
  await faked.open(scene.path);
  await scene.settle(page);
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  return await page.screenshot();
}

/** In the page: the faked service can only send streams that end, and then the page would say that it reconnects. */
function keepStreamsOpen(): void {
  const fetchWhole = globalThis.fetch;
  const open = (bytes: Uint8Array) =>
    new Response(new ReadableStream({ start: (controller) => controller.enqueue(bytes) }), {
      headers: { "content-type": "text/event-stream" },
    });
  globalThis.fetch = async (...request) => {
    const [address] = request;
    const { pathname } = new URL(address instanceof Request ? address.url : address, location.href);
    if (pathname === "/api/events") return open(new TextEncoder().encode(": alive\n\n"));
    const response = await fetchWhole(...request);
    return pathname.endsWith("/events") ? open(await response.bytes()) : response;
  };
}

/** The picture itself if there is no design for it. */
async function besideDesign(
  picture: Buffer,
  name: string,
  width: number,
  theme: "light" | "dark",
): Promise<Buffer> {
  const design = values.beside === undefined ? undefined : join(values.beside, `${name}.html`);
  if (design === undefined || !existsSync(design)) return picture;
  await using browser = await openBrowser({ username: "", password: "" });
  const { page } = browser;
  const height = width < 720 ? 844 : 900;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.goto(pathToFileURL(design).href);
  const target = await page.screenshot();
  await page.setViewportSize({ width: 2 * width + 24, height });
  const image = (png: Buffer) =>
    `<img src="data:image/png;base64,${png.toString("base64")}" width="${width}">`;
  await page.setContent(
    `<body style="margin:0;display:flex;gap:24px;background:#888">${image(picture)}${image(target)}</body>`,
  );
  await page.locator("img").last().waitFor();
  return await page.screenshot();
}
