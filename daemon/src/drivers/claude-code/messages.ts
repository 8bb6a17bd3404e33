// What Claude Code says on its output, as far as it is read. Everything else that comes is kept raw.

export interface UserMessage {
  type: "user";
  message: { role: "user"; content: UserBlock[] };
  parent_tool_use_id: null;
  /** Becomes the message's id in Claude's own transcript. */
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

interface Said {
  uuid?: string;
  /** The call whose sub-agent said it. */
  parent_tool_use_id: string | null;
}

/** One finished block of an answer: several of them share the answer's id. */
export interface AssistantMessage extends Said {
  type: "assistant";
  message: { id: string; model: string; content: Block[] };
  /** On what is no answer of the model, but the program's word that there is none. */
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

/** In the user's place: what tools gave back, and notes that nobody wrote. */
export interface ToolResults extends Said {
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

export interface StreamEvent extends Said {
  type: "stream_event";
  event:
    | { type: "message_start"; message: { id: string; usage?: ApiUsage } }
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

/** The end of a turn. `success` says nothing: an error of the model comes as one. */
export interface Result {
  type: "result";
  subtype: string;
  is_error: boolean;
  api_error_status?: number | null;
  result?: string;
  errors?: string[];
  terminal_reason?: string;
  /** None where a command of its own did without the model, or was stopped before it had an answer. */
  num_turns?: number;
  /** Totals of the process so far, as are those by model. */
  total_cost_usd: number;
  modelUsage?: Record<string, ModelUsage>;
}

interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadInputTokens: number;
  cacheCreationInputTokens: number;
}

export interface SystemMessage {
  type: "system";
  subtype: string;
  /** Of `status`. */
  status?: string | null;
  /** Of `api_retry`. */
  retry_delay_ms?: number;
  error_status?: number | null;
  error?: string;
}

export interface RateLimit {
  status: "allowed" | "allowed_warning" | "rejected";
  /** Seconds since 1970. */
  resetsAt?: number;
  rateLimitType?: string;
}
