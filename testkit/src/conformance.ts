// The suite that every driver must pass, with the agent's real program if there is one. Only the model's
// answers are scripted.
import { after, before, describe } from "node:test";
import { abilityCases } from "./conformance/abilities.ts";
import type { Bench } from "./conformance/bench.ts";
import { endingCases } from "./conformance/endings.ts";
import { requestCases } from "./conformance/requests.ts";
import { resumeCases } from "./conformance/resuming.ts";
import { revertCases } from "./conformance/reverting.ts";
import { turnCases } from "./conformance/turns.ts";

type Cases = (bench: () => Bench) => void;

/** The two halves of the suite. A slow kind runs them in two test files. */
export const turns: readonly Cases[] = [turnCases, requestCases, abilityCases];
export const endings: readonly Cases[] = [resumeCases, revertCases, endingCases];

export function describeConformance(
  name: string,
  open: () => Promise<Bench>,
  cases: readonly Cases[] = [...turns, ...endings],
): void {
  describe(name, () => {
    let bench: Bench | undefined;
    before(async () => {
      bench = await open();
    });
    after(async () => {
      await bench?.[Symbol.asyncDispose]();
    });
    const opened = () => {
      if (!bench) throw new Error("The bench did not open.");
      return bench;
    };
    for (const each of cases) each(opened);
  });
}
