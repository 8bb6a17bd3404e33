// Builds the dashboard into control-plane/pages, from where a node serves it. `npm run web` serves it with reload instead, in
// front of a running node: HAWSER_URL, or the one of `npm run dev`.
import react from "@vitejs/plugin-react";
import { compress } from "./compress.ts";
import { lexerOfMarked } from "./lexer-of-marked.ts";
import { namePackages } from "./name-packages.ts";
import { wordsByModule } from "./words-by-module.ts";
import { defineConfig } from "vite";

const packages = namePackages();
const node = process.env["HAWSER_URL"] ?? "http://127.0.0.1:8080";

/** What every page loads. As one file it is 7 kB smaller than as thirty. */
const first = { name: "base", tags: ["$initial" as const] };
/** Icons and small parts that several later pages use. No page shows a dialog at first. */
const shared = {
  name: "shared",
  minShareCount: 2,
  test: /lucide-react|web\/src\/(?:calls|design|streams|words)\/(?!dialog\.).*\.tsx?$/,
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), compress(), lexerOfMarked(), wordsByModule(), packages.pages],
  build: {
    target: "es2023",
    // Browsers since May 2024, which know light-dark().
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The content security policy allows no data: addresses.
    assetsInlineLimit: 0,
    // Browsers of the build target preload modules themselves.
    modulePreload: { polyfill: false },
    outDir: "../control-plane/pages",
    emptyOutDir: true,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [first, shared] } } },
  },
  // The worker loads the languages that it meets.
  worker: { format: "es", plugins: () => [packages.workers] },
  server: { proxy: { "/api": { target: node, changeOrigin: true } } },
});
