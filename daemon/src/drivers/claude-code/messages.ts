// The messages of Claude Code's output that the driver reads. All others are reported as received.

export interface UserMessage {
  type: "user";
  message: { role: "user"; content: UserBlock[] };
  parent_tool_use_id: null;
  /** Id of the message in Claude Code's transcript. */
  uuid: string;
}

export type UserBlock =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: string; data: string } }
  | {
      type: "document";
      source:
        | { type: "base64"; media_type: "application/pdf"; data: string }
        | { type: "text"; media_type: "text/plain"; data: string };
      title?: string;
    };

export type Message =
  | AssistantMessage
  | ToolResults
  | StreamEvent
  | Result
  | SystemMessage
  | { type: "rate_limit_event"; rate_limit_info: RateLimit };

interface FromAgent {
  uuid?: string;
  /** Tool call whose sub-agent sent the message; null for the session's own agent. */
  parent_tool_use_id: string | null;
}

/** Complete blocks of an answer. Several messages may have the same answer's id. */
export interface AssistantMessage extends FromAgent {
  type: "assistant";
  message: { id: string; model: string; content: Block[] };
  /** Set if the message is not an answer of the model but explains why there is none. */
  error?: string;
}

export type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string }
  | ToolUse
  | { type: "redacted_thinking" };

export interface ToolUse {
  type: "tool_use";
  id: string;
  name: string;
  input: Record<string, unknown>;
}

/** Messages with the role of the user: results of tools, and notes of the program to the model. */
export interface ToolResults extends FromAgent {
  type: "user";
  message: { content: string | (ToolResult | { type: "text"; text: string })[] };
  tool_use_result?: unknown;
  isReplay?: boolean;
}

export interface ToolResult {
  type: "tool_result";
  tool_use_id: string;
  content?: string | { type: string; text?: string }[];
  is_error?: boolean;
}

export interface StreamEvent extends FromAgent {
  type: "stream_event";
  event:
    | { type: "message_start"; message: { id: string; model?: string; usage?: ApiUsage } }
    | { type: "content_block_start"; index: number; content_block: { type: string } }
    | {
        type: "content_block_delta";
        index: number;
        delta: { type: string; text?: string; thinking?: string };
      }
    | { type: "message_delta"; usage?: ApiUsage }
    | { type: "content_block_stop" | "message_stop" | "ping" };
}

export interface ApiUsage {
  input_tokens?: number;
  output_tokens?: number;
  cache_read_input_tokens?: number;
  cache_creation_input_tokens?: number;
}

/** The end of a turn. The subtype `success` may also be an error of the model. */
export interface Result {
  type: "result";
  subtype: string;
  is_error: boolean;
  api_error_status?: number | null;
  result?: string;
  errors?: string[];
  terminal_reason?: string;
  /** 0 if a slash command did not call the model, or was stopped before the model answered. */
  num_turns?: number;
  /** Total of the process so far; so is `modelUsage`. */
  total_cost_usd: number;
  modelUsage?: Record<string, ModelUsage>;
}

interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadInputTokens: number;
  cacheCreationInputTokens: number;
  contextWindow?: number;
}

export interface SystemMessage {
  type: "system";
  subtype: string;
  /** Set for the subtype `status`. */
  status?: string | null;
  /** Set for the subtype `api_retry`, as are the error fields. */
  retry_delay_ms?: number;
  error_status?: number | null;
  error?: string;
}

export interface RateLimit {
  status: "allowed" | "allowed_warning" | "rejected";
  /** Seconds since 1970. */
  resetsAt?: number;
  rateLimitType?: string;
  /** 0 to 1. Only set near the limit. */
  utilization?: number;
}
