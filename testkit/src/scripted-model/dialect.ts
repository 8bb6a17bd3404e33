// What a protocol of model endpoints must tell the scripted model: how to read a request, and how to
// say an answer. One file for each protocol fills it.

export type Protocol = "openai_chat" | "anthropic_messages" | "openai_responses";

/** A message as the scripted model sees it. What a tool gave back is a message of its own. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  /** Its pieces of text, apart: an agent adds pieces of its own to what a person wrote. */
  texts: string[];
}

export interface Conversation {
  messages: Message[];
  /** The names of the tools that the model may call. */
  tools: string[];
  /** How many answers follow this message; counted from the roles unless a protocol splits answers. */
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
  /** How many answers to the same prompt came before. */
  answered: number;
  reasoning: string;
  text: string;
  calls: { tool: string; input: Record<string, unknown> }[];
  usage: Usage;
  /** Nothing is said after the text. */
  cut: boolean;
  /** A text word by word, at the pace of the step. Throws when the caller has hung up. */
  words: (text: string) => AsyncIterable<string>;
}

export interface Dialect {
  protocol: Protocol;
  path: string;
  read: (body: Record<string, unknown>) => Conversation;
  /** The body of an HTTP error. */
  error: (status: number, message: string) => unknown;
  /** The frames of a stream of server-sent events. */
  stream: (answer: Answer) => AsyncIterable<string>;
  /** The answer in one piece, for callers that do not stream. */
  whole: (answer: Answer) => unknown;
}
