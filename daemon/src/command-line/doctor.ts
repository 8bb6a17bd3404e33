// `hawserd doctor`: checks everything that a working host needs, and names each problem with its cure. The
// exit code is 1 if there is a problem.
import { describe } from "../log.ts";
import { checks, type Finding } from "./checks.ts";
import type { CommandLine } from "./command.ts";
import { print } from "./print.ts";

export const doctor: CommandLine = {
  usage: "doctor",
  summary: "checks everything that a host needs, and names each problem with its cure",
  needsState: true,
  async run({ state }) {
    let problems = 0;
    for (const check of checks) {
      const findings = await Promise.resolve(state)
        .then(check)
        .catch((error: unknown): Finding[] => [
          { what: describe(error), cure: "Correct what the message names." },
        ]);
      for (const { what, cure, optional } of findings) {
        const isProblem = cure !== undefined && !optional;
        const mark = isProblem ? "PROBLEM" : cure ? "note" : "ok";
        print(`${mark.padEnd(9)}${what}`);
        if (cure) print(`         ${cure}`);
        if (isProblem) problems++;
      }
    }
    print(problems === 0 ? "Nothing is wrong." : `Problems: ${problems}.`);
    return problems === 0 ? 0 : 1;
  },
};
