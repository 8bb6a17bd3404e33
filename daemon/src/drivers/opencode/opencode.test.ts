// The driver against the real opencode, with a scripted model: turns, and what they ask.
import { openOpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { describeConformance, turns } from "@hawser/testkit/conformance.ts";

describeConformance("opencode", openOpencodeBench, turns);
