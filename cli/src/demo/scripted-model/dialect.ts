// The interface between the scripted model and a protocol of model endpoints: reading a request, and
// writing an answer. Each protocol implements it in one file.

export type Protocol = "openai_chat" | "anthropic_messages" | "openai_responses";

/** A message of the conversation. The result of a tool is a message too. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  /** The pieces of its text, kept separate: an agent adds pieces to the user's text. */
  texts: string[];
}

export interface Conversation {
  messages: Message[];
  /** The names of the tools that the model may call. */
  tools: string[];
  /** How many answers follow this message. Only for a protocol that splits an answer into several messages. */
  answersAfter?: (index: number) => number;
}

/** All input, cached or not, and all output, thought or not. */
export interface Usage {
  input: number;
  output: number;
  cached: number;
  reasoning: number;
}

export interface Answer {
  model: string;
  /** How many answers to the same prompt precede this one. */
  answered: number;
  reasoning: string;
  text: string;
  calls: { tool: string; input: Record<string, unknown> }[];
  usage: Usage;
  /** The answer ends after the text. */
  cut: boolean;
  /** Yields a text word by word, at the pace of the step. Throws if the caller has hung up. */
  words: (text: string) => AsyncIterable<string>;
}

export interface Dialect {
  protocol: Protocol;
  path: string;
  read: (body: Record<string, unknown>) => Conversation;
  /** The body of an HTTP error. `type`: that of the error, if the script names one. */
  error: (status: number, message: string, type?: string) => unknown;
  /** The frames of a stream of server-sent events. */
  stream: (answer: Answer) => AsyncIterable<string>;
  /** The answer in one piece, for callers that do not stream. */
  whole: (answer: Answer) => unknown;
}
