// The driver against the real opencode, with a scripted model: turns, and what they ask.
import { openOpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { describeConformance, turns } from "../conformance.ts";

describeConformance("opencode", openOpencodeBench, turns);
