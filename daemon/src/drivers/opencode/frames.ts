// The parts of opencode's event stream and history that the driver reads (opencode 1.18).

/** An event that opencode stores. Its number is unique within its session. */
export interface SyncEvent {
  /** Ids of all sessions sort by time. */
  id: string;
  /** For example `message.part.updated.1`. */
  type: string;
  seq: number;
  sessionID: string;
  data: Record<string, unknown>;
}

export interface SessionData {
  id: string;
  parentID?: string;
  title: string;
  directory: string;
}

export interface MessageData {
  id: string;
  role: "user" | "assistant";
  sessionID: string;
  /** Mode or sub-agent that works. */
  agent?: string;
  /** On messages of the agent. */
  providerID?: string;
  modelID?: string;
  /** On messages of the agent: the session's directory, and the root of its repository. */
  path?: { cwd: string; root: string };
  finish?: string;
  error?: ErrorData;
  time: { created: number; completed?: number };
}

export interface ErrorData {
  name: string;
  data?: { message?: string; statusCode?: number; responseBody?: string };
}

/** A call of the model that failed and will be repeated. */
export interface Retry {
  attempt: number;
  message: string;
  /** Time of the next call, in milliseconds since 1970. */
  next: number;
}

export interface Part {
  id: string;
  messageID: string;
  sessionID: string;
  type: string;
}

export interface TextPart extends Part {
  text: string;
  synthetic?: boolean;
  time?: { start: number; end?: number };
}

export interface ToolPart extends Part {
  tool: string;
  callID: string;
  state: {
    status: "pending" | "running" | "completed" | "error";
    input: Record<string, unknown>;
    output?: string;
    title?: string;
    error?: string;
    metadata?: Record<string, unknown>;
  };
}

export interface StepFinishPart extends Part {
  cost: number;
  tokens: {
    input: number;
    output: number;
    reasoning: number;
    cache: { read: number; write: number };
  };
}

interface RequestBase {
  id: string;
  sessionID: string;
  tool?: { messageID: string; callID: string };
}

export interface PermissionRequest extends RequestBase {
  permission: string;
  patterns: string[];
  metadata: Record<string, unknown>;
}

export interface QuestionRequest extends RequestBase {
  questions: {
    question: string;
    options: { label: string; description?: string }[];
    multiple?: boolean;
    custom?: boolean;
  }[];
}

export type AgentRequest = PermissionRequest | QuestionRequest;

/** An event of the live stream. Only those in `sync` are also stored. */
export type LiveEvent =
  | { type: "sync"; event: SyncEvent }
  | { type: "delta"; sessionID: string; partID: string; delta: string }
  | { type: "asked"; sessionID: string; request: AgentRequest }
  | { type: "settled"; sessionID: string; requestID: string; reply: string | null }
  | { type: "status"; sessionID: string; status: "busy" | "idle" | "retry"; retry?: Retry }
  | { type: "error"; sessionID: string; error: ErrorData };

/** Reads a frame of `/global/event`; undefined if the driver does not need it. */
export function readFrame(frame: unknown): LiveEvent | undefined {
  const { payload } = frame as { payload?: { type?: string } & Record<string, unknown> };
  if (!payload?.type) return undefined;
  if (payload.type === "sync") {
    const { aggregateID, ...event } = payload["syncEvent"] as Omit<SyncEvent, "sessionID"> & {
      aggregateID: string;
    };
    return { type: "sync", event: { ...event, sessionID: aggregateID } };
  }
  const properties = (payload["properties"] ?? {}) as Record<string, unknown>;
  const sessionID = properties["sessionID"];
  if (typeof sessionID !== "string") return undefined;
  switch (payload.type) {
    case "message.part.delta":
      if (properties["field"] !== "text") return undefined;
      return {
        type: "delta",
        sessionID,
        partID: String(properties["partID"]),
        delta: String(properties["delta"]),
      };
    case "permission.asked":
    case "question.asked":
      return { type: "asked", sessionID, request: properties as unknown as AgentRequest };
    case "permission.replied":
    case "question.replied":
    case "question.rejected": {
      const reply = typeof properties["reply"] === "string" ? properties["reply"] : null;
      return { type: "settled", sessionID, requestID: String(properties["requestID"]), reply };
    }
    case "session.status": {
      const status = properties["status"] as
        | { type: "busy" | "idle" }
        | ({ type: "retry" } & Retry);
      if (status.type !== "retry") return { type: "status", sessionID, status: status.type };
      const { type, ...retry } = status;
      return { type: "status", sessionID, status: type, retry };
    }
    case "session.error":
      return { type: "error", sessionID, error: properties["error"] as ErrorData };
    default:
      return undefined;
  }
}
