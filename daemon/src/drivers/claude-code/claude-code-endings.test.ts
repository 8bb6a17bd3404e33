// The driver with the real Claude Code and a scripted model: resuming, and how turns and sessions end. A
// separate file, so that it runs in parallel with claude-code.test.ts.
import { openClaudeBench } from "@hawser/testkit/claude-bench.ts";
import { describeConformance, endings } from "@hawser/testkit/conformance.ts";

describeConformance("Claude Code", openClaudeBench, endings);
