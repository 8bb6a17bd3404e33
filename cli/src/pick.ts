// Finds a field in an answer, however deep it is: `--pick FIELD`, and `hawser pick FIELD` for a stored answer.
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { CommandFailed } from "./command-failed.ts";
import { printText, safeJson, safeText } from "./terminal.ts";

export function addPick(program: Command): void {
  program
    .command("pick")
    .summary("print a field of an answer")
    .description("Reads an answer from standard input, and prints the first value of a field.")
    .argument("<field>", "the field, such as sessionId")
    .action(async (field: string) => {
      const answer = await text(process.stdin);
      let parsed: unknown;
      try {
        parsed = JSON.parse(answer);
      } catch (error) {
        throw new CommandFailed(`The input is not JSON: ${(error as Error).message}.`, 2);
      }
      printField(parsed, field);
    });
}

/** Prints a text as it is to a program. A terminal never receives unsafe characters. */
export function printField(answer: unknown, field: string): void {
  const value = pick(answer, field);
  if (value === undefined) {
    throw new CommandFailed(
      `The answer has no value of the field ${field}. The whole answer shows which fields it has.`,
    );
  }
  const plain = typeof value === "string" ? value : safeJson(value);
  printText(process.stdout.isTTY ? safeText(plain) : plain);
}

/**
 * The first text, number or truth value of the field, in the order of the printed answer. If all its values are
 * objects or lists, the first of those; undefined if there is none. Null is no value.
 */
export function pick(answer: unknown, field: string): unknown {
  const values = [...valuesOf(answer, field)];
  return values.find((value) => typeof value !== "object") ?? values[0];
}

function* valuesOf(node: unknown, field: string): Generator<unknown, void, void> {
  if (typeof node !== "object" || node === null) return;
  for (const [name, value] of Object.entries(node)) {
    if (!Array.isArray(node) && name === field && value !== null) yield value;
    yield* valuesOf(value, field);
  }
}
