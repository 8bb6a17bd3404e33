// The requirements, read from requirements.tsv: each row is a sentence of the interface, with the id by
// which tests cite it. `npm run generate` writes the ids into requirement-ids.ts.
import { readFileSync } from "node:fs";
import type { RequirementId } from "./requirement-ids.ts";

export interface Requirement {
  readonly id: RequirementId;
  /** "-" if the requirement is about no single action. */
  readonly action: string;
  /** Names a section, rule or table row of the interface, or a reading (R1…) of it. */
  readonly source: string;
  /** shape, limit, permission, behaviour, state, error or security. */
  readonly kind: string;
  readonly statement: string;
  /** What to send or do, and the answer that shows that the requirement is kept. */
  readonly probe: string;
}

/** The fields of a row, in their order; `npm run generate` checks that each row has them all. */
type Row = [RequirementId, string, string, string, string, string];

export const requirements: readonly Requirement[] = readFileSync(
  new URL("requirements.tsv", import.meta.url),
  "utf8",
)
  .trimEnd()
  .split("\n")
  .slice(1)
  .map((line) => {
    const [id, action, source, kind, statement, probe] = line.split("\t") as Row;
    return { id, action, source, kind, statement, probe };
  });
