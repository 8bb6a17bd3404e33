// Limits on what hosts report.
import { codePointLength } from "@hawser/contract";

/**
 * Shortens what a host puts into a record. Every listing contains records, and every node with viewers
 * compares all followed ones every few seconds, in one query for all organizations.
 */
export function shortened<Text extends string | null>(text: Text, longest: number): Text;
export function shortened(text: string | null, longest: number): string | null {
  // A character has at most two code units, so no more of a long text needs to be read.
  const beginning = text?.slice(0, longest * 2 + 1) ?? "";
  if (codePointLength(beginning) <= longest) return text;
  return `${[...beginning].slice(0, longest - 1).join("")}…`;
}
