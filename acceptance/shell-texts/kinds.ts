// The real agents that shell texts are played on.
import type { AgentKind } from "@hawser/contract";
import { openClaudeBench } from "@hawser/testkit/claude-bench.ts";
import { openCodexBench } from "@hawser/testkit/codex-bench.ts";
import type { Bench } from "@hawser/testkit/conformance/bench.ts";
import { openOpencodeBench } from "@hawser/testkit/opencode-bench.ts";

export function openBench(kind: AgentKind): Promise<Bench> {
  switch (kind) {
    case "opencode":
      return openOpencodeBench();
    case "claude_code":
      return openClaudeBench();
    case "codex":
      return openCodexBench();
    default:
      throw new Error(`There is no bench for ${String(kind satisfies never)}.`);
  }
}
