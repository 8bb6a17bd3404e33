// Builds the dashboard into control-plane/pages, from where a node serves it. `npm run web` serves it with reload instead, in
// front of a running node: HAWSER_URL, or the one of `npm run dev`.
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { compress } from "./compress.ts";
import { namePackages } from "./name-packages.ts";
import { defineConfig } from "vite";

const packages = namePackages();
const node = process.env["HAWSER_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), compress(), packages.pages],
  build: {
    target: "es2023",
    // The content security policy allows no data: addresses.
    assetsInlineLimit: 0,
    // Browsers of the build target preload modules themselves.
    modulePreload: { polyfill: false },
    outDir: "../control-plane/pages",
    emptyOutDir: true,
    reportCompressedSize: false,
  },
  // The worker loads the languages that it meets.
  worker: { format: "es", plugins: () => [packages.workers] },
  server: { proxy: { "/api": { target: node, changeOrigin: true } } },
});
