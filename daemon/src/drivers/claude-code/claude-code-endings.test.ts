// The driver against the real Claude Code, with a scripted model: what is left when the daemon goes away,
// and how turns and sessions end. In a file of its own, so that it runs beside the rest.
import { openClaudeBench } from "@hawser/testkit/claude-bench.ts";
import { describeConformance, endings } from "@hawser/testkit/conformance.ts";

describeConformance("Claude Code", openClaudeBench, endings);
