// The driver with the real Claude Code and a scripted model: turns and their requests.
import { openClaudeBench } from "@hawser/testkit/claude-bench.ts";
import { describeConformance, turns } from "@hawser/testkit/conformance.ts";

describeConformance("Claude Code", openClaudeBench, turns);
