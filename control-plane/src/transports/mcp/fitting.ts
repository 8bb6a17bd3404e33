// What a tool answers if its result is larger than a model should read at once. A list ends earlier, and the result
// says with which call it goes on; everything else is cut. Paging is known by the names of its fields: `limit`,
// `cursor` and `nextCursor`; `after`, `nextAfter`, `tail` and the `seq` of entries; `maxBytes`.
import type { Action } from "@hawser/contract";
import type { Answer } from "../../dispatch/dispatcher.ts";
import { publishedSchemas } from "../../dispatch/published-schema.ts";
import {
  countFitting,
  cutToFit,
  fits,
  largestResult,
  onlyList,
  sentTwice,
  type Weigh,
} from "./cut.ts";
import { sizeOf } from "./json-size.ts";

/** Pages of these sizes fit into a result, even if some of their characters are escaped. */
const largestPage = 15_000;
const largestPageSentTwice = 7_000;
/** The smallest page that any action returns. */
const smallestPage = 1_000;
/** A longer call is described and not shown. */
const longestCall = 600;

type Input = Record<string, unknown>;

export interface ToolCall {
  tool: string;
  action: Action;
  input: Input;
  weigh: Weigh;
  /** The action of a tool; undefined if the client did not select it. */
  offered: (tool: string) => Action | undefined;
  call: (tool: string, input: Input) => Promise<Answer>;
  /** A resource that shows what a cut result leaves out, and what it shows. */
  resource?: { uri: string; shows: string } | undefined;
}

/** The input with a page that is small enough, if the action has pages of a size. */
export function withSmallPage({ action, input, weigh }: ToolCall): Input {
  if (!("maxBytes" in action.input.shape)) return input;
  const largest = weigh === sentTwice ? largestPageSentTwice : largestPage;
  const { maxBytes = largest } = input;
  const isLarger = typeof maxBytes === "number" && maxBytes > largest;
  return { ...input, maxBytes: isLarger ? largest : maxBytes };
}

/** The result, or as much of it as a model should read at once. `result` is that of the call with a small page. */
export async function fittingAnswer(toolCall: ToolCall, result: object): Promise<Answer> {
  const { action, input, weigh } = toolCall;
  if (action.effect !== "reads") {
    return { result: cutToFit(result, afterChange(toolCall, result), { weigh }).value };
  }
  if (input["tail"] === true) return { result: newestOf(toolCall, result) };
  if (fits(result, weigh)) return { result };
  const list = onlyList(result);
  if (list && "limit" in action.input.shape && ("nextCursor" in result || "nextAfter" in result)) {
    return shorterPage(toolCall, result);
  }
  if (list && action.pagedBy !== undefined) return beginningWithCursor(toolCall, result);
  if ("maxBytes" in action.input.shape) return smallerPage(toolCall, result);
  const rest = wholeOverRest(toolCall, list ? unusedFilters(toolCall) : []);
  return { result: cutToFit(result, rest, { weigh }).value };
}

/** Calls again with a smaller limit, so that the action itself says where the next page begins. */
async function shorterPage(toolCall: ToolCall, result: object): Promise<Answer> {
  const { tool, weigh, call } = toolCall;
  const count = countFitting(result, "first", weigh);
  const isWhole = count === onlyList(result)!.entries.length;
  const answer = isWhole
    ? { result }
    : await call(tool, { ...withSmallPage(toolCall), limit: count });
  if ("refusal" in answer) return answer;
  // What does not fit now is one long entry, or entries that grew meanwhile. None may be left out: the next page
  // begins behind them.
  const options = { weigh, keepsEntries: true };
  return { result: cutToFit(answer.result as object, wholeOverRest(toolCall), options).value };
}

/** For a list without a cursor: its beginning, and the call of another tool that goes on there. */
async function beginningWithCursor(toolCall: ToolCall, result: object): Promise<Answer> {
  const { action, input, weigh, offered, call } = toolCall;
  const { field, entries } = onlyList(result)!;
  const count = countFitting(result, "first", weigh);
  if (count === entries.length) {
    const options = { weigh, keepsEntries: true };
    return { result: cutToFit(result, wholeOverRest(toolCall), options).value };
  }
  const other = action.pagedBy!;
  const shape = offered(other)?.input.shape;
  const filters = Object.fromEntries(
    Object.entries(input).filter(([name]) => name !== "limit" && shape && name in shape),
  );
  const answer = shape && (await call(other, { ...filters, limit: count }));
  const page = answer && "result" in answer ? (answer.result as Input) : {};
  const { nextCursor: cursor } = page;
  const kept = Array.isArray(page[field]) ? (page[field] as unknown[]) : entries.slice(0, count);
  const rest = !shape
    ? `The tool ${other} returns the next ones, but this client did not select it.`
    : typeof cursor === "string"
      ? `${asCall(other, { ...filters, cursor })} returns the next ones.`
      : `${asCall(other, filters)} returns all of them, in pages.`;
  const missing = [`${field}: ${kept.length} of ${entries.length} entries`];
  const options = { weigh, missing, keepsEntries: true };
  return { result: cutToFit({ ...result, [field]: kept }, rest, options).value };
}

/** The newest entries that fit, and the call that returns those before them. */
function newestOf(toolCall: ToolCall, result: object): object {
  const { tool, action, input, weigh } = toolCall;
  const list = onlyList(result);
  const isFitting = fits(result, weigh);
  const first = list?.entries[0] as { seq?: unknown } | undefined;
  if (!list || typeof first?.seq !== "number") {
    return cutToFit(result, wholeOverRest(toolCall), { weigh }).value;
  }
  const { field, entries } = list;
  const count = isFitting ? entries.length : countFitting(result, "last", weigh);
  const kept = entries.slice(-count) as { seq: number }[];
  const {
    tail: _,
    maxBytes,
    after = 0,
    limit = defaultLimit(action),
    ...filters
  } = input as {
    after?: number;
    limit?: number;
    [name: string]: unknown;
  };
  const isFiltered = Object.keys(filters).length > 1;
  // The action ends a page at its size. With filters it cannot be known whether entries before it pass them.
  const isEndedBySize =
    maxBytes !== withSmallPage(toolCall)["maxBytes"] &&
    entries.length < limit &&
    first.seq - 1 > after &&
    (!isFiltered || sizeOf(entries) > largestPageSentTwice / 2);
  if (count === entries.length && !isEndedBySize) {
    return cutToFit(result, wholeOverRest(toolCall), { weigh, keepsEntries: true }).value;
  }
  const before = kept[0]!.seq - 1;
  const [from, left] = !isFiltered
    ? [Math.max(after, before - (limit - count)), Math.min(before - after, limit - count)]
    : isEndedBySize
      ? [after, limit]
      : [first.seq - 1, entries.length - count];
  const asked = isFiltered && isEndedBySize ? "" : ` of ${count + left}`;
  const earlier = asCall(tool, { ...filters, after: from, limit: left });
  const value = { ...result, [field]: kept };
  const rest = `${earlier} returns those before them.${fits(value, weigh) ? "" : ` ${wholeOverRest(toolCall)}`}`;
  const missing = [`${field}: the newest ${count}${asked} entries`];
  return cutToFit(value, rest, { weigh, missing, keepsEntries: true }).value;
}

/** Calls again with smaller pages: a cut text would have a gap before the next page. */
async function smallerPage(toolCall: ToolCall, result: object): Promise<Answer> {
  const { tool, weigh, call } = toolCall;
  const small = withSmallPage(toolCall);
  let page = result;
  for (let tries = 0; tries < 3 && !fits(page, weigh); tries += 1) {
    const texts = Object.values(page).filter((value) => typeof value === "string");
    const bytes = Math.max(0, ...texts.map((text) => Buffer.byteLength(text)));
    const share = (0.9 * largestResult) / weigh(page);
    const maxBytes = Math.max(smallestPage, Math.floor(bytes * share));
    const answer = await call(tool, { ...small, maxBytes });
    if ("refusal" in answer) return answer;
    page = answer.result as object;
  }
  return { result: cutToFit(page, wholeOverRest(toolCall), { weigh }).value };
}

/** Where the whole result is, for a result that no tool can continue. */
const wholeOverRest = ({ tool, resource }: ToolCall, filters: string[] = []) =>
  [
    "No tool returns the cut parts.",
    filters.length > 0 && `A filter returns fewer entries: ${filters.join(", ")}.`,
    resource && `The resource ${resource.uri} ${resource.shows}.`,
    `POST /api/rest/actions/${tool} with the same input returns the whole result.`,
  ]
    .filter(Boolean)
    .join(" ");

/** Fields that would narrow a list. */
const unusedFilters = ({ action, input }: ToolCall) =>
  Object.entries(propertiesOf(action))
    .filter(([name, { type }]) => type === "string" && !(name in input))
    .map(([name]) => name);

/** A change must not be repeated in order to read its result. */
function afterChange({ action, offered }: ToolCall, result: object): string {
  const { shownBy } = action;
  const done = "The call took effect; do not repeat it.";
  if (shownBy === undefined || !offered(shownBy)) return done;
  const id = idIn(result);
  return `${done} ${shownBy} shows ${id === undefined ? "its effect" : `the record with ${id}`}.`;
}

/** The first id in a result, in itself or in a record of it. */
function idIn(result: object, depth = 0): string | undefined {
  for (const [name, value] of Object.entries(result)) {
    if (name.endsWith("Id") && typeof value === "string") return `${name} ${value.slice(0, 100)}`;
  }
  if (depth > 0) return undefined;
  return Object.values(result)
    .filter((value) => typeof value === "object" && value !== null && !Array.isArray(value))
    .map((value) => idIn(value as object, depth + 1))
    .find((id) => id !== undefined);
}

function asCall(tool: string, input: Input): string {
  const json = JSON.stringify(input);
  if (json.length <= longestCall) return `${tool} with ${json}`;
  const { cursor, after, limit } = input;
  return `${tool} with the same filters and ${JSON.stringify({ cursor, after, limit })}`;
}

const defaultLimit = (action: Action) => Number(propertiesOf(action)["limit"]?.default ?? 0);

const propertiesOf = (action: Action) =>
  (publishedSchemas(action).input["properties"] ?? {}) as Record<
    string,
    { type?: string; default?: unknown }
  >;
