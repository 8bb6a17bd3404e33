// Makes case number n of an action. The same seed makes the same case, whichever other cases are made.
import { makeBody, type KnownIds } from "./base-body.ts";
import type { Draft, Mutation } from "./draft.ts";
import { writeJson } from "./json-text.ts";
import { labelOf, type Label, type RequestParts } from "./label.ts";
import { randomFrom, type Random } from "./random.ts";
import { requestMutations } from "./request-mutations.ts";
import type { ActionShape } from "./shape.ts";
import { valueMutations } from "./value-mutations.ts";

export interface Case extends RequestParts {
  action: string;
  index: number;
  mutation: string;
  label: Label;
  chunked?: true;
  unfinished?: "chunked" | "announced";
}

type MutationName = keyof typeof valueMutations | keyof typeof requestMutations;

const mutations: Record<MutationName, Mutation> = { ...valueMutations, ...requestMutations };

/** How often each is tried, in ten thousand. Slow ones are rare. */
const shares: Record<MutationName, number> = {
  nothing: 900,
  missing: 450,
  extra: 450,
  null: 450,
  wrongType: 650,
  notAnObject: 200,
  empty: 350,
  limit: 450,
  beyondLimit: 450,
  aroundLimit: 250,
  negative: 200,
  infinite: 200,
  notANumber: 250,
  huge: 200,
  fractional: 250,
  loneSurrogate: 350,
  nul: 350,
  rightToLeft: 250,
  control: 250,
  prototypeKey: 400,
  ids: 250,
  otherId: 350,
  rule: 500,
  form: 700,
  longString: 8,
  deep: 20,
  noBody: 80,
  emptyBody: 60,
  contentType: 200,
  compressed: 120,
  chunked: 80,
  unfinished: 30,
  duplicateKeys: 300,
  invalidUtf8: 250,
  encoding: 120,
  brokenJson: 400,
  spelling: 200,
  tooLarge: 2,
};

const weighted = (Object.keys(shares) as MutationName[]).flatMap((name) =>
  Array.from({ length: shares[name] }, () => name),
);

export function makeCase(action: ActionShape, seed: string, index: number, known: KnownIds): Case {
  const random = randomFrom(`${seed} ${action.name} ${index}`);
  const { draft, mutation } = makeDraft(action, random, known);
  const { contentType, contentEncoding, chunked, unfinished } = draft;
  const body = draft.bodiless ? undefined : write(draft);
  const request = { contentType, ...(contentEncoding && { contentEncoding }), body };
  return {
    action: action.name,
    index,
    mutation,
    ...request,
    label: unfinished ? { verdict: "refuse" } : labelOf(action, request),
    ...(chunked && { chunked }),
    ...(unfinished && { unfinished }),
  };
}

/** Tries mutations until one has a place in the body; "nothing" always has. */
function makeDraft(action: ActionShape, random: Random, known: KnownIds) {
  for (;;) {
    const mutation = random.pick(weighted);
    const body = makeBody(action, random, known);
    const draft: Draft = { action, random, known, body, contentType: "application/json" };
    if (mutations[mutation](draft)) return { draft, mutation };
  }
}

function write(draft: Draft): Buffer {
  const text = writeJson(draft.instead === undefined ? draft.body : draft.instead);
  const written = draft.rewrite ? draft.rewrite(text) : text;
  return typeof written === "string" ? Buffer.from(written) : written;
}
