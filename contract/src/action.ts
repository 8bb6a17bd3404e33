// What an action is: one entry of data, from which REST, MCP, OpenAPI, the action listing, audit and
// the reference pages are derived. Nothing here is about coding agents: another product could build its
// registry from the same entries.
import type { z } from "zod";
import type { RefusalCode } from "./errors.ts";
import type { Permission } from "./permissions.ts";

/**
 * `reads`: nothing changes. `changes`: the call can be undone or repeated. `destroys`: something no
 * longer exists afterwards. Decides MCP hints, audit and confirmation prompts.
 */
export type Effect = "reads" | "changes" | "destroys";

/** What a user may do with a single record, without the permission for all of them. Each level includes those before. */
export const grantLevels = ["view", "answer", "edit"] as const;
export type GrantLevel = (typeof grantLevels)[number];

export interface Action<
  Input extends z.ZodObject = z.ZodObject,
  Result extends z.ZodType = z.ZodType,
  E extends Effect = Effect,
> {
  /** One sentence a caller reads first. */
  summary: string;
  /** More about the behaviour, if one sentence is not enough. */
  details?: string;
  /** What it is about. Actions are listed, offered to models and tagged by this word. */
  group: string;
  /** The permission that a caller needs; null if any valid key is enough. */
  permission: Permission | null;
  /** A further permission that certain inputs need. */
  extraPermission?: { when: (input: z.output<Input>) => boolean; permission: Permission };
  /** A user's key needs no permission for what is the user's own. The handler refuses everything else. */
  ownNeedsNoPermission?: true;
  /** A user without the permission may call it for the records that were granted to them at this level. */
  openToGrants?: GrantLevel;
  effect: E;
  /** A second call with the same input changes nothing more. */
  idempotent?: true;
  /** `records`: answered from the database alone. `host`: a command is sent to a host. */
  reach: "records" | "host";
  /** Strict: undeclared fields are refused, in nested objects too. */
  input: Input;
  result: Result;
  /** The action that shows what a change did. A host's action that is not idempotent must name one. */
  shownBy?: string;
  /** For a list without a cursor: the action that pages through the same entries, with the same filters. */
  pagedBy?: string;
  /** Refusals that this action can give, in addition to the common ones. */
  refusals: readonly RefusalCode[];
  /** The result contains a secret that is shown once and never stored in readable form. */
  resultHoldsSecret?: true;
  /** A signed-in person must have proven who they are within the last minutes. Keys are not concerned. */
  needsFreshSignIn?: true;
  /** Agent keys are refused, whatever their permissions. Otherwise they reach their own sessions only. */
  closedToAgents?: true;
}

export type Actions = Readonly<Record<string, Action>>;

/** Returns the entry unchanged. It lets the compiler infer the entry's types. */
export function action<Input extends z.ZodObject, Result extends z.ZodType, E extends Effect>(
  entry: Action<Input, Result, E>,
): Action<Input, Result, E> {
  return entry;
}

export type InputOf<A extends Action> = z.output<A["input"]>;
export type ResultOf<A extends Action> = z.output<A["result"]>;
