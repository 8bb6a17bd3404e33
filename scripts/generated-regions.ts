// Parts of written documents that are generated: they stand between `<!-- generated: name -->` and
// `<!-- generated end -->`. `npm run generate` fills them.
import { actionNames } from "@hawser/contract";
import { map } from "./import-map.ts";

/** Documents that have generated parts, from the repository's root. */
export const documentsWithRegions = ["README.md", "CONTRIBUTING.md"];

/** Texts of the generated parts by name. */
export const regions: Record<string, () => string> = {
  "action-counts": actionCounts,
  "import-map": importTable,
};

/** Replaces the contents of every generated part. Throws if a part has an unknown name or no end. */
export function fillRegions(text: string, texts: Record<string, () => string>): string {
  const begins = text.match(/<!-- generated: /g)?.length ?? 0;
  let filled = 0;
  const result = text.replace(
    /<!-- generated: ([\w-]+) -->\n[\s\S]*?<!-- generated end -->/g,
    (_, name: string) => {
      const write = texts[name];
      if (!write) throw new Error(`There is no generated part called ${name}.`);
      filled += 1;
      return `<!-- generated: ${name} -->\n\n${write()}\n\n<!-- generated end -->`;
    },
  );
  if (filled !== begins) throw new Error("A generated part has no end.");
  return result;
}

function actionCounts(): string {
  return `Hawser has ${actionNames.length} actions.`;
}

function importTable(): string {
  const rows = Object.entries(map).map(([workspace, { workspaces, packages, node, reason }]) => [
    `\`${workspace}\``,
    [
      workspaces === "all" ? "any workspace" : workspaces.join(", "),
      packages === "listed" ? "packages in its package.json" : packages.join(", "),
      node ? "" : "none of Node's modules",
    ]
      .filter((part) => part !== "")
      .join("; "),
    reason,
  ]);
  return markdownTable([["Workspace", "May import", "Reason"], ...rows]);
}

/** A Markdown table with padded columns, as oxfmt formats it. The first row is the head. */
function markdownTable(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [rows[0]!, rule, ...rows.slice(1)].map(line).join("\n");
}
