// Commands as a client sent them and as a host's journal has them.

/** An answer of the service to a client. `final` is one that no retry may change. */
export interface Answer {
  at: number;
  tookMs: number;
  node: string;
  /** 0 if there was no answer. */
  status: number;
  code: string;
  body: string;
  final: boolean;
}

/** A command as its client saw it, with the service's id. */
export interface SentCommand {
  name: string;
  instanceId: string;
  commandId: string | undefined;
  answers: Answer[];
}

export interface JournalCommand {
  id: string;
  begunAt: number;
  finishedAt: number | null;
  outcome: { result: Record<string, unknown> } | { refusal: { code: string } } | null;
}
