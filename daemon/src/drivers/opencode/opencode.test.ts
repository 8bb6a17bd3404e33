// The driver with the real opencode and a scripted model: turns and their requests.
import { openOpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { describeConformance, turns } from "@hawser/testkit/conformance.ts";

describeConformance("opencode", openOpencodeBench, turns);
