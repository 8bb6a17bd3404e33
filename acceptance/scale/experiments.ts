// The table of experiments: what each measures, and which figures it produces.
import { databaseFaultsSizes, measureDatabaseFaults } from "./database-faults.ts";
import type { Figure } from "./figure.ts";
import { forgetSizes, measureForget } from "./forget.ts";
import { growIdleHosts, idleGrowthFigures, idleGrowthSizes } from "./idle-growth.ts";
import { growInstances, instancesFigures, instancesSizes } from "./instances.ts";
import { measureNodeGrowth, nodeGrowthSizes } from "./node-growth.ts";
import { predict } from "./prediction.ts";
import {
  edgeKilledSizes,
  edgeStoppedSizes,
  measureEdgeKilled,
  measureEdgeStopped,
  measureNatsFrozen,
  measurePresenceList,
  natsFrozenSizes,
  presenceListSizes,
} from "./presence.ts";
import { measureRevocations, revocationsSizes } from "./revocations.ts";
import { measureSchema, schemaSizes } from "./schema.ts";
import { guessesSizes, measureGuesses, measureSignIns, signInsSizes } from "./sign-ins.ts";
import { measureStorm, stormSizes } from "./storm.ts";
import { measureUpgrade, upgradeSizes } from "./upgrade.ts";
import { growViewers, viewerGrowthFigures, viewerGrowthSizes } from "./viewer-growth.ts";

/** `large` measures. `small` is a slice for every change: it shows that the experiment runs. */
export type SizeName = "large" | "small";

/** Whether a figure has a goal, and whether a small run can judge it: no small run judges times. */
type Judged = "always" | "large" | "never";

export interface Experiment {
  summary: string;
  /** Its figures in order. A run that does not produce exactly these fails. */
  figures: Record<string, Judged>;
  measure: (size: SizeName) => Promise<Figure[]>;
}

// The prediction uses what these have measured.
const idleGrowth = sized(growIdleHosts, idleGrowthSizes);
const viewerGrowth = sized(growViewers, viewerGrowthSizes);
const instanceGrowth = sized(growInstances, instancesSizes);
const schema = sized(measureSchema, schemaSizes);

export const experiments: Record<string, Experiment> = {
  "database-faults": {
    summary: "the database turns read-only; the hello of one host waits for a lock",
    figures: {
      database_faults_read_only_unready_ms: "large",
      database_faults_read_only_refused_ms: "large",
      database_faults_read_only_wrong_answers: "always",
      database_faults_read_only_unfit_reports: "always",
      database_faults_read_only_back_ms: "never",
      database_faults_blocked_hello_delay_ms: "large",
    },
    measure: sized(measureDatabaseFaults, databaseFaultsSizes),
  },
  forget: {
    summary: "the records of hosts are lost for a simulated hour: no daemon forgets without proof",
    figures: {
      forget_hosts_without_proof: "always",
      forget_unknown_answers_per_host: "always",
      forget_back_online_ms: "never",
      forget_removal_ms: "large",
      forget_removed_hosts_left: "always",
    },
    measure: sized(measureForget, forgetSizes),
  },
  "presence-list": {
    summary: "comparing presence with the lists of NATS: 2,000 and 16,000 connections",
    figures: {
      presence_list_ms: "large",
      presence_list_compare_ms: "large",
      presence_list_compare_ratio: "large",
      presence_list_cut: "always",
      presence_list_missed: "always",
      presence_list_taken_for_gone: "always",
    },
    measure: sized(measurePresenceList, presenceListSizes),
  },
  "edge-killed": {
    summary: "the node with the edge of 100 hosts is killed 200 times: no host is shown offline",
    figures: { edge_killed_hosts_offline: "always" },
    measure: sized(measureEdgeKilled, edgeKilledSizes),
  },
  "edge-stopped": {
    summary: "it is stopped 50 times while another host is frozen: no host is shown offline",
    figures: { edge_stopped_hosts_offline: "always" },
    measure: sized(measureEdgeStopped, edgeStoppedSizes),
  },
  "nats-frozen": {
    summary: "one NATS server of three is frozen for 3 s: no host is shown offline",
    figures: { nats_frozen_hosts_offline: "always", nats_frozen_comparisons: "always" },
    measure: sized(measureNatsFrozen, natsFrozenSizes),
  },
  storm: {
    summary: "NATS is killed: 2,000 hosts return over a window that follows from the edges' speed",
    figures: {
      storm_back_per_window_1_edge: "large",
      storm_back_per_window_2_edges: "large",
      storm_dials_per_host_1_edge: "large",
      storm_dials_per_host_2_edges: "large",
      storm_speedup_2_edges: "large",
      storm_window_seconds_1_edge: "never",
      storm_window_seconds_2_edges: "never",
      storm_all_at_once_seconds: "never",
      storm_all_at_once_dials_per_host: "never",
    },
    measure: sized(measureStorm, stormSizes),
  },
  "sign-ins": {
    summary: "a person with 200 open streams at three nodes is signed out, 100 times",
    figures: {
      sign_ins_late_trials: "large",
      sign_ins_last_stream_ms: "large",
      sign_ins_open_streams: "never",
    },
    measure: sized(measureSignIns, signInsSizes),
  },
  guesses: {
    summary: "100,000 wrong passwords are sent: each is refused, and the person still signs in",
    figures: {
      guesses_let_in: "always",
      guesses_own_browser_refused: "always",
      guesses_own_sign_in_ms: "never",
      guesses_latency_ratio: "large",
    },
    measure: sized(measureGuesses, guessesSizes),
  },
  revocations: {
    summary: "50,000 hosts were removed within two hours: instances are removed, and nodes start",
    figures: {
      revocations_failed_deletes: "always",
      revocations_delete_ms: "never",
      revocations_started_nodes: "always",
      revocations_node_start_ms: "never",
      revocations_removed_host_out_ms: "large",
      revocations_removed_hosts_admitted_again: "always",
      revocations_omitted_host_out_ms: "large",
      revocations_listed: "never",
      revocations_omitted: "never",
      revocations_bytes: "never",
    },
    measure: sized(measureRevocations, revocationsSizes),
  },
  "idle-growth": {
    summary: "what idle hosts cost: 250 to 2,000 light hosts, fitted to a line",
    figures: {
      idle_growth_transactions_per_host_hour: "large",
      idle_growth_slope_difference: "large",
      idle_growth_cpu_ms_per_host_hour: "large",
      idle_growth_node_cpu_ms_per_host_hour: "never",
      idle_growth_postgres_cpu_ms_per_host_hour: "never",
      idle_growth_nats_cpu_ms_per_host_hour: "never",
      idle_growth_wal_bytes_per_host_hour: "never",
      idle_growth_transactions_per_hour_without_hosts: "never",
    },
    measure: async (size) => idleGrowthFigures(await idleGrowth(size)),
  },
  instances: {
    summary: "how work for one host and lists of all grow: 10,000 to 1,000,000 stored instances",
    figures: {
      instances_hello_growth: "large",
      instances_heartbeat_growth: "large",
      instances_facts_growth: "large",
      instances_presence_change_growth: "large",
      instances_host_key_growth: "large",
      instances_renewal_growth: "large",
      instances_record_growth: "large",
      instances_page_growth: "large",
      instances_page_by_status_growth: "large",
      instances_first_page_growth: "large",
      instances_presence_sweep_growth: "large",
      instances_key_sweep_growth: "large",
      instances_pages_growth: "always",
      instances_postgres_time_growth: "never",
      instances_list_of_connections_beside_linear: "large",
      instances_list_of_stranded_beside_linear: "large",
      instances_list_of_counts_beside_linear: "large",
      instances_list_of_connections_ms: "never",
      instances_list_of_stranded_ms: "never",
      instances_list_of_counts_ms: "never",
    },
    measure: async (size) => instancesFigures(await instanceGrowth(size)),
  },
  "viewer-growth": {
    summary:
      "what viewers cost: 200 to 5,000 with a key each, idle, while their session changes, and without notices",
    figures: {
      viewer_growth_transactions_per_viewer_hour: "large",
      viewer_growth_queries_per_record_change: "always",
      viewer_growth_queries_per_entry: "always",
      viewer_growth_needless_resyncs: "always",
      viewer_growth_all_notices_lost_session_ms: "large",
      viewer_growth_all_notices_lost_organization_ms: "large",
      viewer_growth_node_cpu_ms_per_viewer_hour: "never",
      viewer_growth_postgres_cpu_ms_per_viewer_hour: "never",
      viewer_growth_wal_bytes_per_viewer_hour: "never",
    },
    measure: async (size) => viewerGrowthFigures(await viewerGrowth(size)),
  },
  "node-growth": {
    summary: "the same load on one node and on three: transactions and deadlocks",
    figures: {
      node_growth_transactions_ratio: "large",
      node_growth_deadlocks: "always",
      node_growth_answered_share: "always",
      node_growth_transactions_per_second_1_node: "never",
      node_growth_transactions_per_second_3_nodes: "never",
    },
    measure: sized(measureNodeGrowth, nodeGrowthSizes),
  },
  schema: {
    summary: "a log of years beside its one partition, what an entry costs, and what expires",
    figures: {
      schema_read_page_4_partitions: "large",
      schema_read_entry_4_partitions: "large",
      schema_read_page_16_partitions: "large",
      schema_read_entry_16_partitions: "large",
      schema_read_page_56_partitions: "large",
      schema_read_entry_56_partitions: "large",
      schema_wal_bytes_per_entry: "large",
      schema_expiry_wal_bytes_per_entry: "large",
      schema_expiry_seconds: "never",
      schema_audit_inserts_one_organization: "large",
    },
    measure: schema,
  },
  upgrade: {
    summary: "migrations of 1,000,000 instances beside requests, hosts and a long transaction",
    figures: {
      upgrade_failed_requests: "always",
      upgrade_longest_wait_ms: "large",
      upgrade_hosts_lost: "always",
      upgrade_lock_attempts: "always",
      upgrade_p99_wait_ms: "never",
      upgrade_longest_wait_before_ms: "never",
      upgrade_requests: "never",
      upgrade_column_ms: "never",
      upgrade_index_ms: "never",
    },
    measure: sized(measureUpgrade, upgradeSizes),
  },
  prediction: {
    summary: "from those points to 1,000,000 hosts: cores, transactions and WAL",
    figures: {
      prediction_error_idle_transactions: "large",
      prediction_error_idle_wal: "large",
      prediction_error_idle_cpu: "large",
      prediction_error_viewer_transactions: "large",
      prediction_error_viewer_cpu: "large",
      prediction_error_lists: "large",
      prediction_1m_hosts_transactions_per_second: "never",
      prediction_1m_hosts_wal_mb_per_second: "never",
      prediction_1m_hosts_node_cores: "never",
      prediction_1m_hosts_postgres_cores: "never",
      prediction_1m_hosts_nats_cores: "never",
      prediction_1m_hosts_lists_ms: "never",
      prediction_100k_viewers_transactions_per_second: "never",
      prediction_100k_viewers_node_cores: "never",
      prediction_100k_viewers_postgres_cores: "never",
      prediction_100k_sessions_wal_mb_per_second: "never",
    },
    measure: async (size) =>
      predict({
        idle: await idleGrowth(size),
        viewers: await viewerGrowth(size),
        instances: await instanceGrowth(size),
        walBytesPerEntry: valueOf(await schema(size), "schema_wal_bytes_per_entry"),
      }),
  },
};

function valueOf(figures: readonly Figure[], wanted: string): number {
  return figures.find(({ name }) => name === wanted)!.value;
}

/** Measures each size once in this process. */
function sized<Size, Result>(
  measure: (size: Size) => Promise<Result>,
  sizes: Record<SizeName, Size>,
): (size: SizeName) => Promise<Result> {
  const results = new Map<SizeName, Promise<Result>>();
  return (name) => {
    const result = results.get(name) ?? measure(sizes[name]);
    results.set(name, result);
    return result;
  };
}

/** Measures. Throws if a figure is missing or is not a number. A small run leaves some goals unjudged. */
export async function runExperiment(
  { figures: expected, measure }: Experiment,
  size: SizeName,
): Promise<Figure[]> {
  const figures = await measure(size);
  const names = figures.map(({ name }) => name).join(", ");
  const wanted = Object.keys(expected).join(", ");
  if (names !== wanted) throw new Error(`Expected the figures ${wanted}, but got ${names}.`);
  return figures.map((figure) => {
    const { name, value, goal } = figure;
    if (!Number.isFinite(value) || (goal === null) !== (expected[name] === "never")) {
      throw new Error(
        `${name} is not a number, or its goal is unexpected: ${JSON.stringify(figure)}.`,
      );
    }
    return size === "small" && expected[name] === "large" ? { ...figure, met: null } : figure;
  });
}
