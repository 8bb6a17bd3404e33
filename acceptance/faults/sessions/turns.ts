// The prompts of a run: scripts of a few steps, chosen by the seed.
import type { AgentKind } from "@hawser/contract";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import type { Random } from "../../fuzz/random.ts";
import { between } from "../fault.ts";

const words = (count: number, of: string) =>
  Array.from({ length: count }, (_, i) => `${of}${i + 1}`).join(" ");

/** One to three answers of the model, at the pace of a real one, with tools that need no permission. */
export function randomSteps(kind: AgentKind, random: Random): object[] {
  const steps: object[] = [];
  const calls = random.below(3);
  for (let i = 0; i < calls; i++) {
    steps.push({
      ...(random.oneIn(2) && { reasoning: words(between(random, 1, 6), "thought") }),
      text: words(between(random, 1, 6), "word"),
      ...stepsOf[kind].plan(`step ${i + 1}`),
      delayMs: random.below(400),
    });
  }
  steps.push({
    text: words(between(random, 2, 20), "word"),
    delayMs: random.below(600),
    paceMs: random.oneIn(3) ? between(random, 20, 200) : 0,
  });
  return steps;
}

export const shortTurn: object[] = [{ text: "All is done." }];

/** A command that runs long after its agent has been killed. */
export const longCommand = "sleep 600";
export const longTurn = (kind: AgentKind): object[] => [
  stepsOf[kind].command(longCommand),
  { text: "It is over." },
];
