// Agent kinds as list_agent_kinds shows them. The host is asked, and its answer is stored for when it
// is away.
import { AgentKind, Refusal, notFound, parseId, type AgentKindRecord } from "@hawser/contract";
import type { HostFacts, ReportedAgentKind } from "@hawser/host-protocol";
import type { ReadContext } from "../dispatch/handler.ts";
import { hostOffline } from "../fabric/host-asker.ts";
import { readFromHost, type HostServices, type HostTarget } from "../hosts/ask-host.ts";
import { selectHostAgents } from "../hosts/store.ts";
import { keepKinds, selectKinds } from "./store.ts";

interface Listing {
  agentKinds: AgentKindRecord[];
  live: boolean;
  takenAt: string | null;
}

export async function listAgentKinds(
  context: ReadContext & HostServices,
  instanceId: string,
): Promise<Listing> {
  const { sql } = context;
  const id = parseId("instance", instanceId);
  const row = id && (await sql.first(selectHostAgents, sql.organizationId, id));
  if (!row) throw notFound("instance");
  const host = { instanceId, isOnline: row.status === "online" };
  let agentKinds: AgentKindRecord[];
  try {
    if (!host.isOnline) throw hostOffline();
    agentKinds = await readKinds(context, host);
  } catch (error) {
    // If the host cannot answer, its last answer is better than none.
    if (!(error instanceof Refusal)) throw error;
    const kept = await sql.first(selectKinds, sql.organizationId, id);
    if (kept) {
      return { agentKinds: kept.agent_kinds.map(complete), live: false, takenAt: kept.taken_at };
    }
    return { agentKinds: kindsFromFacts(row.agents), live: false, takenAt: row.last_seen_at };
  }
  const text = JSON.stringify(agentKinds);
  const kept = await sql.first(keepKinds, sql.organizationId, id, text);
  if (!kept) throw notFound("instance");
  return { agentKinds, live: true, takenAt: kept.taken_at };
}

/** A daemon that cannot run agents yet only knows which are installed. */
async function readKinds(
  context: ReadContext & HostServices,
  host: HostTarget,
): Promise<AgentKindRecord[]> {
  try {
    return (await readFromHost(context, host, "list_agent_kinds", {})).agentKinds.map(complete);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "daemon_outdated") throw error;
    return kindsFromFacts((await readFromHost(context, host, "list_agents", {})).agents);
  }
}

/** One entry for each kind, including those that the host did not report. */
function kindsFromFacts(agents: HostFacts["agents"]): AgentKindRecord[] {
  return AgentKind.options.map((kind) => {
    const found = agents.find((agent) => agent.kind === kind);
    return {
      kind,
      installed: found?.installed ?? false,
      version: found?.version ?? null,
      problems: found ? (found.problems ?? []) : [neverReported],
      authenticated: found?.ready ?? false,
      capabilities: [],
      options: [],
      ...noChoices,
    };
  });
}

const noChoices = { variants: [], modes: [], commands: [] };

/** Daemons of version 0.1.0 do not report what a prompt may name. */
function complete(reported: ReportedAgentKind): AgentKindRecord {
  const { variants = [], modes = [], commands = [] } = reported;
  return { ...reported, variants, modes, commands };
}

const neverReported = {
  code: "host_unknown",
  message: "No host has reported its agents yet. Pair one and start its daemon.",
};
