// Why a session has its status: a stable word for programs, and a sentence for people.

/** The sentences of words that the service itself sets. Hosts send their sentences along. */
const sentences: Record<string, string> = {
  start_unknown:
    "It is not known whether the host started the session. If it did, the session becomes active by itself.",
  host_replaced: "Another machine was paired in place of the session's host.",
  journal_lost:
    "The host has lost its journal, and this session with it. Its files are where they were: end it, and start another one.",
  host_offline: "The host is not connected. It cleans up when it is back.",
  host_silent: "The host did not answer in time. It is asked again until it has cleaned up.",
  host_refused: "The host could not clean up. It is asked again until it has.",
};

/** The sentence to a stored reason; null if there is no reason. */
export function statusMessage(row: {
  status_reason: string | null;
  status_message: string | null;
}): string | null {
  return row.status_message ?? (row.status_reason && (sentences[row.status_reason] ?? null));
}
