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
  /** Place in the interface's document, such as "4.5,R30"; the first number is the section. */
  source: string;
}

interface SectionCount {
  section: string;
  proven: number;
  total: number;
}

export interface Coverage {
  sections: SectionCount[];
  proven: number;
  total: number;
  /** Citations of ids that are not requirements, with the tests that cite them. */
  unknown: { id: string; tests: string[] }[];
}

/**
 * A requirement is proven if a passed test that sent requests cites it, and no failed test does.
 */
export function countCoverage(requirements: readonly Requirement[], proofs: Proof[]): Coverage {
  const proven = new Set<string>();
  for (const proof of proofs) {
    if (proof.passed && proof.requests > 0) proof.ids.forEach((id) => proven.add(id));
  }
  for (const proof of proofs) {
    if (!proof.passed) proof.ids.forEach((id) => proven.delete(id));
  }

  const known = new Set<string>();
  const sections = new Map<string, SectionCount>();
  for (const { id, source } of requirements) {
    known.add(id);
    const section = source.split(",", 1)[0]!;
    const count = sections.get(section) ?? { section, proven: 0, total: 0 };
    sections.set(section, count);
    count.total++;
    if (proven.has(id)) count.proven++;
  }

  const unknown = new Map<string, Set<string>>();
  for (const proof of proofs) {
    for (const id of proof.ids) {
      if (known.has(id)) continue;
      unknown.set(id, (unknown.get(id) ?? new Set()).add(proof.test));
    }
  }

  return {
    sections: [...sections.values()].sort((a, b) => byNumber(a.section, b.section)),
    proven: [...known].filter((id) => proven.has(id)).length,
    total: known.size,
    unknown: [...unknown].map(([id, tests]) => ({ id, tests: [...tests] })),
  };
}

/** The table shown under the run: one line per section, then the total. */
export function coverageTable(coverage: Coverage): string {
  const lines = ["section  proven  total"];
  for (const { section, proven, total } of coverage.sections) {
    lines.push(`${section.padEnd(7)}  ${String(proven).padStart(6)}  ${String(total).padStart(5)}`);
  }
  lines.push(`${coverage.proven} of ${coverage.total} requirements proven`);
  return lines.join("\n");
}

// Sections in the document's order: 2 before 4.2, 4.2 before 4.10.
const order = new Intl.Collator("en", { numeric: true });
const byNumber = (a: string, b: string) => order.compare(a, b);
