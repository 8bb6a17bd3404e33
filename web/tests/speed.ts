// Measures a long session in Chromium: node web/tests/speed.ts [entries]. Prints how long it takes to open, how many
// nodes the page has, and how long a key press takes until it is painted, and fails above the budget (ui.md 10).
import { measure } from "./measure-session.ts";

const length = Number(process.argv[2] ?? 100_000);
const figures = await measure(length);
console.log(JSON.stringify({ entries: length, ...figures }));
if (figures.openMs > 2_000 || figures.nodes > 2_000 || figures.keyMs > 16) process.exitCode = 1;
