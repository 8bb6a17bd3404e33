// Writes the type of all requirements' ids, so that a test can cite only an id that exists. Throws if a
// row of the requirements is not whole.

const columns = ["id", "action", "source", "kind", "statement", "probe"];
const kinds = ["shape", "limit", "permission", "behaviour", "state", "error", "security"];

/** The text of acceptance/requirement-ids.ts for the text of acceptance/requirements.tsv. */
export function requirementIds(table: string): string {
  const [names, ...rows] = table.trimEnd().split("\n");
  if (names !== columns.join("\t")) {
    throw new Error(`The first line of requirements.tsv must name: ${columns.join(", ")}.`);
  }
  const ids = rows.map((row, i) => {
    const fields = row.split("\t");
    const [id, , , kind] = fields;
    const at = `requirements.tsv:${i + 2}`;
    if (fields.length !== columns.length || fields.includes("")) {
      throw new Error(
        `${at} must have ${columns.length} fields with a tab between them, none empty.`,
      );
    }
    if (!kinds.includes(kind!)) {
      throw new Error(`${at} has the kind "${kind}"; it must be one of: ${kinds.join(", ")}.`);
    }
    return id!;
  });
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) throw new Error(`requirements.tsv has "${twice}" twice.`);
  return `// Generated from requirements.tsv by \`npm run generate\`; not edited by hand.
export type RequirementId =
${ids.map((id) => `  | ${JSON.stringify(id)}`).join("\n")};
`;
}
