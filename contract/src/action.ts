// What an action is: one entry of data from which REST, MCP, OpenAPI, the action listing, audit and
// the reference pages are all made. Nothing here knows about coding; another product's registry
// is made of the same entries.
import type { z } from "zod";
import type { RefusalCode } from "./errors.ts";
import type { Permission } from "./permissions.ts";

/**
 * What a call does to the world: `reads` nothing changes; `changes` it can be undone or repeated;
 * `destroys` something is gone afterwards. Decides MCP hints, audit and confirmation prompts.
 */
export type Effect = "reads" | "changes" | "destroys";

export interface Action<
  Input extends z.ZodObject = z.ZodObject,
  Result extends z.ZodType = z.ZodType,
  E extends Effect = Effect,
> {
  /** One sentence a caller reads first. */
  summary: string;
  /** More about the behaviour, where one sentence is not enough. */
  details?: string;
  /** The one permission it asks for; null when any valid key will do. */
  permission: Permission | null;
  /** A further permission that a certain input asks for. */
  extraPermission?: { when: (input: z.output<Input>) => boolean; permission: Permission };
  effect: E;
  /** `records`: answered from the database alone. `host`: a host is asked to act or to tell. */
  reach: "records" | "host";
  /** Strict: an undeclared field is refused, also in nested objects. */
  input: Input;
  result: Result;
  /** The refusals of its own, beyond those every action can give. */
  refusals: readonly RefusalCode[];
  /** The result carries something shown once; it is never stored readable. */
  resultHoldsSecret?: true;
  /** Keys held by agents are refused, whatever their permissions. */
  closedToAgents?: true;
}

export type Actions = Readonly<Record<string, Action>>;

/** Writes an action entry; it only helps the compiler infer the entry's types. */
export function action<Input extends z.ZodObject, Result extends z.ZodType, E extends Effect>(
  entry: Action<Input, Result, E>,
): Action<Input, Result, E> {
  return entry;
}

export type InputOf<A extends Action> = z.output<A["input"]>;
export type ResultOf<A extends Action> = z.output<A["result"]>;
