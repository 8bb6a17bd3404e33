// `npm run web:build`: builds the dashboard into control-plane/pages, from where nodes of the sources serve it.
import { buildPages } from "@hawser/deploy/build-pages.ts";

buildPages();
