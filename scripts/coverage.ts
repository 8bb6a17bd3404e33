// Counts which requirements the acceptance run has proven, from the proofs that its tests recorded.

/** Proof of one acceptance test: the requirements it cites, and its result. */
export interface Proof {
  test: string;
  ids: string[];
  /** Number of requests that the test sent to the product; a test without requests proves nothing. */
  requests: number;
  passed: boolean;
}

interface Requirement {
  id: string;
  /** The action it is about; "-" for none. */
  action: string;
  /** Place in the interface's document, such as "4.5,R30"; the first number is the section. */
  source: string;
}

interface SectionCount {
  section: string;
  proven: number;
  /** Requirements whose actions are all built. */
  built: number;
  total: number;
}

export interface Coverage {
  sections: SectionCount[];
  proven: number;
  built: number;
  total: number;
  /** The requirements about built actions that no test has proven. */
  missing: string[];
  /** Citations of ids that are not requirements, with the tests that cite them. */
  unknown: { id: string; tests: string[] }[];
}

/**
 * A requirement is proven if a passed test that sent requests cites it, and no failed test does. A requirement
 * that needs an action that is not built is not proven, whatever its 501 shows.
 */
export function countCoverage(
  requirements: readonly Requirement[],
  proofs: Proof[],
  isBuilt: (requirement: Requirement) => boolean = () => true,
): Coverage {
  const proven = new Set<string>();
  for (const proof of proofs) {
    if (proof.passed && proof.requests > 0) proof.ids.forEach((id) => proven.add(id));
  }
  for (const proof of proofs) {
    if (!proof.passed) proof.ids.forEach((id) => proven.delete(id));
  }

  const known = new Set<string>();
  const sections = new Map<string, SectionCount>();
  const missing: string[] = [];
  for (const requirement of requirements) {
    const { id, source } = requirement;
    known.add(id);
    const section = source.split(",", 1)[0]!;
    const count = sections.get(section) ?? { section, proven: 0, built: 0, total: 0 };
    sections.set(section, count);
    count.total++;
    if (!isBuilt(requirement)) continue;
    count.built++;
    if (proven.has(id)) count.proven++;
    else missing.push(id);
  }

  const unknown = new Map<string, Set<string>>();
  for (const proof of proofs) {
    for (const id of proof.ids) {
      if (known.has(id)) continue;
      unknown.set(id, (unknown.get(id) ?? new Set()).add(proof.test));
    }
  }

  const counts = [...sections.values()];
  const sum = (of: "proven" | "built") => counts.reduce((all, count) => all + count[of], 0);
  return {
    sections: counts.sort((a, b) => byNumber(a.section, b.section)),
    proven: sum("proven"),
    built: sum("built"),
    total: known.size,
    missing,
    unknown: [...unknown].map(([id, tests]) => ({ id, tests: [...tests] })),
  };
}

/** The table shown under the run: one line per section, then the total. */
export function coverageTable(coverage: Coverage): string {
  const lines = ["section  proven  built  total"];
  for (const { section, proven, built, total } of coverage.sections) {
    const counts = [
      String(proven).padStart(6),
      String(built).padStart(5),
      String(total).padStart(5),
    ];
    lines.push(`${section.padEnd(7)}  ${counts.join("  ")}`);
  }
  if (coverage.missing.length > 0) {
    lines.push("", `built and not proven: ${coverage.missing.join(", ")}`, "");
  }
  const { proven, built, total } = coverage;
  lines.push(
    `${proven} of ${built} requirements proven; ${total - built} more are about actions that are not built`,
  );
  return lines.join("\n");
}

// Sections in the document's order: 2 before 4.2, 4.2 before 4.10.
const order = new Intl.Collator("en", { numeric: true });
const byNumber = (a: string, b: string) => order.compare(a, b);
