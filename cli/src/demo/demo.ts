// `hawser demo`: the whole product in a temporary directory, with real agents whose model is scripted, and a
// guided first session. It needs no account, uses no login of the user, and removes everything at its end.
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import type { Kind } from "../install-agent.ts";
import { refuseRoot } from "../up/data-directory.ts";
import { guide } from "./guide.ts";
import { startStage } from "./stage.ts";

interface Options {
  yes?: boolean;
  kinds: string;
}

const allKinds: readonly Kind[] = ["opencode", "claude_code", "codex"];

export function addDemo(program: Command): void {
  program
    .command("demo")
    .summary("try everything without an account")
    .description(
      "Starts the whole product in a temporary directory, with real agents whose model is scripted, and leads through a first session. Everything is removed at the end.",
    )
    .option("--kinds <kinds>", "the agents, separated by commas", allKinds.join(","))
    .option("--yes", "go on without waiting for Enter")
    .action(async ({ yes, kinds: text }: Options) => {
      const kinds = readKinds(text);
      refuseRoot();
      const isAsking = yes !== true;
      if (isAsking && !process.stdin.isTTY) {
        throw new CommandFailed(
          "There is no terminal to press Enter in. Run hawser demo --yes.",
          2,
        );
      }
      await run(kinds, isAsking);
    });
}

async function run(kinds: Kind[], isAsking: boolean): Promise<void> {
  const stopped = new AbortController();
  let stops = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // The second signal ends this process at once; its parts end by themselves.
    process.on(signal, () => (stops++ === 0 ? stopped.abort() : process.exit(130)));
  }
  try {
    await using stage = await startStage(kinds, stopped.signal);
    try {
      if (!stopped.signal.aborted) await guide(stage, { isAsking, signal: stopped.signal });
    } finally {
      process.stdout.write("\nStopping, and removing everything that the demo made …\n");
    }
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
  }
  process.stdout.write("Removed.\n");
  process.exit(stopped.signal.aborted ? 130 : 0);
}

function readKinds(text: string): Kind[] {
  return text.split(",").map((name) => {
    const kind = allKinds.find((each) => each === name);
    if (kind) return kind;
    throw new CommandFailed(
      `There is no agent "${name}". The agents are ${allKinds.join(", ")}.`,
      2,
    );
  });
}
