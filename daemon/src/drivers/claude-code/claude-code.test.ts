// The driver against the real Claude Code, with a scripted model: turns, and what they ask.
import { openClaudeBench } from "@hawser/testkit/claude-bench.ts";
import { describeConformance, turns } from "@hawser/testkit/conformance.ts";

describeConformance("Claude Code", openClaudeBench, turns);
