// `npm run screenshots [-- --beside DIRECTORY] [--out DIRECTORY] [NAME…]`: pictures of the pages, wide and on a phone,
// light and dark, with the same data and the same time each run. --beside: a directory with a page of static HTML for
// each name, for example a design; each picture then stands beside the picture of that page on one sheet.
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
    out: { type: "string", default: ".results/screenshots" },
  },
  allowPositionals: true,
});
const sizes = { wide: 1440, phone: 390 };
const themes = ["light", "dark"] as const;

mkdirSync(values.out, { recursive: true });
const chosen = scenes.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
for (const scene of chosen) {
  for (const [size, width] of Object.entries(sizes)) {
    for (const theme of themes) {
      const picture = await take(scene, width, theme);
      const name = `${scene.name}-${size}-${theme}.png`;
      writeFileSync(join(values.out, name), await besideDesign(picture, scene.name, width, theme));
      console.log(join(values.out, name));
    }
  }
}

async function take(scene: Scene, width: number, theme: "light" | "dark"): Promise<Buffer> {
  await using faked: FakedService = await openFaked({
    width,
    length: scene.entries.length,
    entryAt: (seq) => scene.entries[seq - 1]!,
  });
  const { page } = faked;
  Object.assign(faked.answers, scene.answers);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.clock.setFixedTime(now);
  await faked.open(scene.path);
  await scene.settle(page);
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  return await page.screenshot();
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
