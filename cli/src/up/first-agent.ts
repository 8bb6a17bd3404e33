// The first agent of this machine. Without one no session can start, so `hawser up` waits for it.
import type { Client } from "@hawser/client";
import { commandFor } from "../command-for.ts";
import { installAgent } from "../install-agent.ts";

interface FirstAgent {
  data: string;
  client: Client;
  instanceId: string;
  say: (sentence: string) => void;
  stopped: AbortSignal;
}

/** No-op if the host has an agent. Installs opencode, or says why it cannot. */
export async function awaitFirstAgent(first: FirstAgent): Promise<void> {
  const { data, client, instanceId, say, stopped: signal } = first;
  const again = commandFor(data, `call update_opencode '{"instanceId":"${instanceId}"}'`);
  const describe = (reason: string) => `opencode is not ready: ${reason} To try again: ${again}`;
  try {
    const { agents } = await client.get_instance({ instanceId }, { signal });
    if (agents.some(({ installed }) => installed)) return;
    say("Installing opencode …");
    const reason = await installAgent({ client, instanceId, kind: "opencode", say, signal });
    say(reason === undefined ? "opencode is ready." : describe(reason));
  } catch (error) {
    // The service runs without an agent, too.
    if (!signal.aborted) say(describe((error as Error).message));
  }
}
