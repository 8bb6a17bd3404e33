// The driver against the real opencode, with a scripted model: what goes on without the daemon, and how
// turns and sessions end. In a file of its own, so that it runs beside the rest.
import { openOpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { describeConformance, endings } from "@hawser/testkit/conformance.ts";

describeConformance("opencode", openOpencodeBench, endings);
