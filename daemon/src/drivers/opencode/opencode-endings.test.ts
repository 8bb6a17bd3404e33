// The driver with the real opencode and a scripted model: resuming, and how turns and sessions end. A
// separate file, so that it runs in parallel with opencode.test.ts.
import { openOpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { describeConformance, endings } from "@hawser/testkit/conformance.ts";

describeConformance("opencode", openOpencodeBench, endings);
