// The driver with the real codex and a scripted model.
import { describeConformance } from "@hawser/testkit/conformance.ts";
import { openCodexBench } from "@hawser/testkit/codex-bench.ts";

describeConformance("codex", () => openCodexBench());
